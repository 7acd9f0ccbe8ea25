/* mpi.c - collectives over MPI.
 *
 * needs   what all processes call in the same order
 * keeps   a communicator for each group that has been named, or asked for by its ranks
 * gives   failures as a status and words: errors of MPI come back (MPI_ERRORS_RETURN), none aborts
 */
#include <fnz/mpi.h>

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct party {
  char *name;     /* NULL for ranks */
  int64_t *ranks; /* NULL for a name */
  size_t nranks;
  MPI_Comm comm; /* MPI_COMM_NULL: this process is in none of that name */
  int rank, count;
} party;

typedef struct world {
  fnz_collectives base;
  party all;
  party *parties;
  size_t nparties;
  MPI_Op ops[2][2]; /* MIN and MAX of F32 and F64: NaN wins */
  bool started, has_ops;
} world;

/* --- Failing ---------------------------------------------------------------------------------- */
static fnz_status fail(fnz_status status, const char *what, const char *why, char *message) {
  snprintf(message, FNZ_COLLECTIVES_MESSAGE_BYTES, "%s: %s", what, why);
  return status;
}

/* Fails with the text of an error of an MPI function. */
static fnz_status check(int error, const char *function, char *message) {
  char why[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (error == MPI_SUCCESS)
    return FNZ_OK;
  MPI_Error_string(error, why, &length);
  return fail(FNZ_IO, function, why, message);
}

#define TRY(expr)                                                                                  \
  do {                                                                                             \
    fnz_status try_status_ = (expr);                                                               \
    if (try_status_ != FNZ_OK)                                                                     \
      return try_status_;                                                                          \
  } while (0)

/* One without a name is one of ranks. */
static fnz_status refuse_group(const fnz_group *group, const char *why, char *message) {
  char what[64];
  if (group->name[0])
    snprintf(what, sizeof what, "group \"%.40s\"", group->name);
  else
    snprintf(what, sizeof what, "group of %zu ranks, the first %lld", group->nranks,
             group->nranks ? (long long)group->ranks[0] : -1LL);
  return fail(FNZ_BAD_INPUT, what, why, message);
}

/* --- Groups ----------------------------------------------------------------------------------- */
static fnz_status add_party(world *w, party **out, char *message) {
  party *more = realloc(w->parties, (w->nparties + 1) * sizeof *more);
  if (!more)
    return fail(FNZ_NO_MEMORY, "a group", "out of memory", message);
  w->parties = more;
  *out = &more[w->nparties++];
  **out = (party){.comm = MPI_COMM_NULL};
  return FNZ_OK;
}

static void end_party(party *p, bool ended) {
  if (p->comm != MPI_COMM_NULL && !ended)
    MPI_Comm_free(&p->comm);
  free(p->name);
  free(p->ranks);
}

/* Its place in the communicator. Errors come back from now on. */
static fnz_status look(party *p, char *message) {
  TRY(check(MPI_Comm_set_errhandler(p->comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler",
            message));
  TRY(check(MPI_Comm_rank(p->comm, &p->rank), "MPI_Comm_rank", message));
  return check(MPI_Comm_size(p->comm, &p->count), "MPI_Comm_size", message);
}

static fnz_status check_ranks(const world *w, const fnz_group *group, char *message) {
  char why[80];
  snprintf(why, sizeof why, "it has %zu ranks, and there are %d processes", group->nranks,
           w->all.count);
  if (group->nranks == 0 || group->nranks > (size_t)w->all.count)
    return refuse_group(group, why, message);
  for (size_t i = 0; i < group->nranks; i++) {
    snprintf(why, sizeof why, "it has rank %lld, and there are %d processes",
             (long long)group->ranks[i], w->all.count);
    if (group->ranks[i] < 0 || group->ranks[i] >= w->all.count)
      return refuse_group(group, why, message);
    for (size_t k = 0; k < i; k++)
      if (group->ranks[k] == group->ranks[i])
        return refuse_group(group, "it has a rank twice", message);
  }
  return FNZ_OK;
}

/* The index of this process in a list; -1 if it is not in it. */
static int place_in(const world *w, const int64_t *ranks, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (ranks[i] == w->all.rank)
      return (int)i;
  return -1;
}

/* Made by its members alone, which all come here with the same call of the program. */
static fnz_status make_comm(const world *w, const fnz_group *group, MPI_Comm *out, char *message) {
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  int *ranks = malloc(group->nranks * sizeof *ranks);
  if (!ranks)
    return fail(FNZ_NO_MEMORY, "a group", "out of memory", message);
  for (size_t i = 0; i < group->nranks; i++)
    ranks[i] = (int)group->ranks[i];
  int error = MPI_Comm_group(w->all.comm, &all);
  if (error == MPI_SUCCESS)
    error = MPI_Group_incl(all, (int)group->nranks, ranks, &some);
  if (error == MPI_SUCCESS)
    error = MPI_Comm_create_group(w->all.comm, some, 0, out);
  if (some != MPI_GROUP_NULL)
    MPI_Group_free(&some);
  if (all != MPI_GROUP_NULL)
    MPI_Group_free(&all);
  free(ranks);
  return check(error, "MPI_Comm_create_group", message);
}

static fnz_status open_ranks(world *w, const fnz_group *group, party **out, char *message) {
  party *p;
  TRY(check_ranks(w, group, message));
  if (place_in(w, group->ranks, group->nranks) < 0)
    return refuse_group(group, "this process is not among its ranks", message);
  int64_t *ranks = malloc(group->nranks * sizeof *ranks);
  if (!ranks)
    return fail(FNZ_NO_MEMORY, "a group", "out of memory", message);
  memcpy(ranks, group->ranks, group->nranks * sizeof *ranks);
  fnz_status status = add_party(w, &p, message);
  if (status != FNZ_OK) {
    free(ranks);
    return status;
  }
  p->ranks = ranks;
  p->nranks = group->nranks;
  status = make_comm(w, group, &p->comm, message);
  if (status == FNZ_OK)
    status = look(p, message);
  if (status != FNZ_OK) { /* asked for again, it is made again */
    end_party(p, false);
    w->nparties--;
  }
  *out = p;
  return status;
}

static fnz_status find(world *w, const fnz_group *group, party **out, char *message) {
  *out = &w->all;
  if (!group)
    return FNZ_OK;
  for (size_t i = 0; i < w->nparties; i++) {
    const party *p = *out = &w->parties[i];
    bool is_asked = group->ranks
                        ? p->ranks && p->nranks == group->nranks &&
                              memcmp(p->ranks, group->ranks, p->nranks * sizeof *p->ranks) == 0
                        : p->name && strcmp(p->name, group->name) == 0;
    if (is_asked)
      return p->comm != MPI_COMM_NULL
                 ? FNZ_OK
                 : refuse_group(group, "this process is in none of that name", message);
  }
  *out = &w->all;
  if (group->ranks)
    return open_ranks(w, group, out, message);
  if (strcmp(group->name, "0") == 0)
    return FNZ_OK;
  return refuse_group(group, "say which processes it has, by --group NAME=RANKS or fnz_mpi_options",
                      message);
}

static fnz_status place(void *self, const fnz_group *group, int64_t *rank, int64_t *count,
                        char *message) {
  party *p;
  TRY(find(self, group, &p, message));
  *rank = p->rank;
  *count = p->count;
  return FNZ_OK;
}

/* --- Counts ----------------------------------------------------------------------------------- */
/* MPI counts in int: longer arrays are sent in pieces of this many elements or bytes. */
enum { PIECE = 1 << 28 };

static int piece(size_t left) {
  return left < PIECE ? (int)left : PIECE;
}

/* --- Reductions ------------------------------------------------------------------------------- */
#define NAN_WINS(name, type, better)                                                               \
  static void name(void *from, void *into, int *count, MPI_Datatype *as) {                         \
    const type *a = from;                                                                          \
    type *b = into;                                                                                \
    (void)as;                                                                                      \
    for (int i = 0; i < *count; i++)                                                               \
      if (a[i] != a[i] || a[i] better b[i])                                                        \
        b[i] = a[i];                                                                               \
  }
NAN_WINS(least_f32, float, <)
NAN_WINS(most_f32, float, >)
NAN_WINS(least_f64, double, <)
NAN_WINS(most_f64, double, >)
#undef NAN_WINS

static fnz_status make_ops(world *w, char *message) {
  MPI_User_function *const functions[2][2] = {{least_f32, most_f32}, {least_f64, most_f64}};
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++)
      TRY(check(MPI_Op_create(functions[i][k], 1, &w->ops[i][k]), "MPI_Op_create", message));
  w->has_ops = true;
  return FNZ_OK;
}

static bool type_of(fnz_dtype dtype, MPI_Datatype *out) {
  const struct {
    fnz_dtype dtype;
    MPI_Datatype type;
  } types[] = {
      {FNZ_U8, MPI_UINT8_T},   {FNZ_I8, MPI_INT8_T},    {FNZ_I16, MPI_INT16_T},
      {FNZ_I32, MPI_INT32_T},  {FNZ_I64, MPI_INT64_T},  {FNZ_U16, MPI_UINT16_T},
      {FNZ_U32, MPI_UINT32_T}, {FNZ_U64, MPI_UINT64_T}, {FNZ_F32, MPI_FLOAT},
      {FNZ_F64, MPI_DOUBLE},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].dtype == dtype) {
      *out = types[i].type;
      return true;
    }
  return false;
}

static bool is_real(fnz_dtype dtype) {
  return dtype == FNZ_F32 || dtype == FNZ_F64;
}

static MPI_Op op_of(const world *w, fnz_reduction reduction, fnz_dtype dtype) {
  switch (reduction) {
  case FNZ_REDUCTION_SUM:
    return MPI_SUM;
  case FNZ_REDUCTION_PRODUCT:
    return MPI_PROD;
  case FNZ_REDUCTION_MIN:
    return is_real(dtype) ? w->ops[dtype == FNZ_F64][0] : MPI_MIN;
  case FNZ_REDUCTION_MAX:
    return is_real(dtype) ? w->ops[dtype == FNZ_F64][1] : MPI_MAX;
  case FNZ_REDUCTION_BAND:
    return MPI_BAND;
  case FNZ_REDUCTION_BOR:
    return MPI_BOR;
  case FNZ_REDUCTION_BXOR:
    return MPI_BXOR;
  }
  return MPI_OP_NULL;
}

static fnz_status all_reduce(void *self, const fnz_group *group, fnz_reduction reduction,
                             fnz_dtype dtype, void *data, size_t count, char *message) {
  const world *w = self;
  MPI_Datatype type;
  party *p;
  int bytes = 0;
  TRY(find(self, group, &p, message));
  MPI_Op op = op_of(w, reduction, dtype);
  if (!type_of(dtype, &type) || op == MPI_OP_NULL)
    return fail(FNZ_UNSUPPORTED, "all_reduce", "elements of another type", message);
  TRY(check(MPI_Type_size(type, &bytes), "MPI_Type_size", message));
  /* Integers come out the same however they are reduced. For floats the last bits, and the choice
   * of a NaN, depend on the order: one process reduces for all. */
  const bool by_one = is_real(dtype), is_root = p->rank == 0;
  for (size_t done = 0; done < count; done += PIECE) {
    char *at = (char *)data + done * (size_t)bytes;
    const int n = piece(count - done);
    int error = by_one ? MPI_Reduce(is_root ? MPI_IN_PLACE : at, at, n, type, op, 0, p->comm)
                       : MPI_Allreduce(MPI_IN_PLACE, at, n, type, op, p->comm);
    if (by_one && error == MPI_SUCCESS)
      error = MPI_Bcast(at, n, type, 0, p->comm);
    TRY(check(error, "all_reduce", message));
  }
  return FNZ_OK;
}

/* --- Moves ------------------------------------------------------------------------------------ */
static fnz_status broadcast(void *self, const fnz_group *group, int64_t source, void *data,
                            size_t bytes, char *message) {
  party *p;
  TRY(find(self, group, &p, message));
  for (size_t done = 0; done < bytes; done += PIECE)
    TRY(check(MPI_Bcast((char *)data + done, piece(bytes - done), MPI_BYTE, (int)source, p->comm),
              "broadcast", message));
  return FNZ_OK;
}

static fnz_status all_gather(void *self, const fnz_group *group, const void *from, size_t bytes,
                             void *to, char *message) {
  MPI_Datatype cell;
  party *p;
  TRY(find(self, group, &p, message));
  if (bytes > INT_MAX)
    return fail(FNZ_UNSUPPORTED, "all_gather", "more than 2 GiB of one process", message);
  /* A type of all bytes, so that MPI counts one per process. */
  TRY(check(MPI_Type_contiguous((int)bytes, MPI_BYTE, &cell), "MPI_Type_contiguous", message));
  fnz_status status = check(MPI_Type_commit(&cell), "MPI_Type_commit", message);
  if (status == FNZ_OK)
    status = check(MPI_Allgather(from, 1, cell, to, 1, cell, p->comm), "all_gather", message);
  MPI_Type_free(&cell);
  return status;
}

/* Lists the offset of each process's bytes; false where MPI cannot count them. */
static bool list_places(const size_t *bytes, int count, int *sizes, int *places) {
  size_t at = 0;
  for (int k = 0; k < count; k++) {
    if (bytes[k] > (size_t)INT_MAX - at)
      return false;
    sizes[k] = (int)bytes[k];
    places[k] = (int)at;
    at += bytes[k];
  }
  return true;
}

/* Checks that each process sends as many bytes as the receiver expects. MPI reports only messages
 * that are too long, and leaves memory unchanged after short ones. All processes get the result,
 * and none waits for ever. */
static fnz_status agree(const party *p, const size_t *from_bytes, const size_t *to_bytes,
                        char *message) {
  const size_t count = (size_t)p->count;
  uint64_t *sent = malloc(2 * count * sizeof *sent), *come = sent + count;
  int fits = 1;
  if (!sent)
    return fail(FNZ_NO_MEMORY, "all_to_all", "out of memory", message);
  for (size_t k = 0; k < count; k++)
    sent[k] = from_bytes[k];
  int error = MPI_Alltoall(sent, 1, MPI_UINT64_T, come, 1, MPI_UINT64_T, p->comm);
  char why[96] = "another process is sent other sizes than it expects";
  for (size_t k = 0; k < count && error == MPI_SUCCESS && fits; k++)
    if (come[k] != to_bytes[k]) {
      snprintf(why, sizeof why, "process %zu sends %llu bytes where %zu are expected", k,
               (unsigned long long)come[k], to_bytes[k]);
      fits = 0;
    }
  free(sent);
  if (error == MPI_SUCCESS)
    error = MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, p->comm);
  TRY(check(error, "all_to_all", message));
  return fits ? FNZ_OK : fail(FNZ_BAD_INPUT, "all_to_all", why, message);
}

static fnz_status all_to_all(void *self, const fnz_group *group, const void *from,
                             const size_t *from_bytes, void *to, const size_t *to_bytes,
                             char *message) {
  party *p;
  TRY(find(self, group, &p, message));
  TRY(agree(p, from_bytes, to_bytes, message));
  const size_t count = (size_t)p->count;
  int *numbers = malloc(4 * count * sizeof *numbers);
  if (!numbers)
    return fail(FNZ_NO_MEMORY, "all_to_all", "out of memory", message);
  int *sent = numbers, *sent_at = sent + count, *got = sent_at + count, *got_at = got + count;
  fnz_status status = FNZ_OK;
  if (!list_places(from_bytes, p->count, sent, sent_at) ||
      !list_places(to_bytes, p->count, got, got_at))
    status = fail(FNZ_UNSUPPORTED, "all_to_all", "more than 2 GiB of one process", message);
  else
    status = check(MPI_Alltoallv(from, sent, sent_at, MPI_BYTE, to, got, got_at, MPI_BYTE, p->comm),
                   "all_to_all", message);
  free(numbers);
  return status;
}

/* --- Beginning and ending --------------------------------------------------------------------- */
static void destroy(void *self) {
  world *w = self;
  int ended = 0;
  MPI_Finalized(&ended);
  for (int i = 0; i < 2 && w->has_ops && !ended; i++)
    for (int k = 0; k < 2; k++)
      MPI_Op_free(&w->ops[i][k]);
  for (size_t i = 0; i < w->nparties; i++)
    end_party(&w->parties[i], ended);
  end_party(&w->all, ended);
  if (w->started && !ended)
    MPI_Finalize();
  free(w->parties);
  free(w);
}

static void end_all(void *self, int code) {
  const world *w = self;
  MPI_Abort(w->all.comm, code);
}

static fnz_status start(world *w, const void *communicator, char *message) {
  int is_there = 0, given = 0, ended = 0;
  TRY(check(MPI_Initialized(&is_there), "MPI_Initialized", message));
  TRY(check(MPI_Finalized(&ended), "MPI_Finalized", message));
  if (ended)
    return fail(FNZ_UNSUPPORTED, "MPI", "it has ended in this process, and starts once", message);
  if (!is_there)
    TRY(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given), "MPI_Init_thread",
              message));
  w->started = !is_there;
  MPI_Comm from = communicator ? *(const MPI_Comm *)communicator : MPI_COMM_WORLD;
  TRY(check(MPI_Comm_dup(from, &w->all.comm), "MPI_Comm_dup", message));
  TRY(look(&w->all, message));
  return make_ops(w, message);
}

/* Among groups with the same name the process is in one, or in none. All processes split alike: by
 * the group they are in, in its order. */
static fnz_status name_group(world *w, const fnz_mpi_options *o, size_t k, char *message) {
  const char *name = o->groups[k].name;
  party *p;
  int color = MPI_UNDEFINED, key = 0;
  for (size_t i = 0; i < o->ngroups; i++) {
    const fnz_mpi_group *g = &o->groups[i];
    const fnz_group ranks = {g->name, "", g->ranks, g->nranks};
    if (strcmp(g->name, name) != 0)
      continue;
    TRY(check_ranks(w, &ranks, message));
    int at = place_in(w, g->ranks, g->nranks);
    if (at >= 0 && color != MPI_UNDEFINED)
      return refuse_group(&ranks, "two groups of that name share a process", message);
    color = at >= 0 ? (int)i : color;
    key = at >= 0 ? at : key;
  }
  TRY(add_party(w, &p, message));
  p->name = malloc(strlen(name) + 1);
  if (!p->name)
    return fail(FNZ_NO_MEMORY, "a group", "out of memory", message);
  strcpy(p->name, name);
  TRY(check(MPI_Comm_split(w->all.comm, color, key, &p->comm), "MPI_Comm_split", message));
  return p->comm == MPI_COMM_NULL ? FNZ_OK : look(p, message);
}

/* As for every structure with a size: a structure of an older header is shorter, and its missing
 * fields are 0. */
static fnz_status take_options(const fnz_mpi_options *given, fnz_mpi_options *out, char *message) {
  char why[96];
  *out = (fnz_mpi_options)FNZ_MPI_OPTIONS_INIT;
  if (!given)
    return FNZ_OK;
  snprintf(why, sizeof why,
           "size is %zu, and this library knows 1 to %zu; use FNZ_MPI_OPTIONS_INIT", given->size,
           sizeof *out);
  if (given->size == 0 || given->size > sizeof *out)
    return fail(FNZ_BAD_ARGUMENT, "fnz_mpi_options", why, message);
  memcpy(out, given, given->size);
  return FNZ_OK;
}

fnz_status fnz_mpi_collectives_create(const fnz_mpi_options *options, fnz_collectives **out,
                                      char *message) {
  fnz_mpi_options o;
  *out = NULL;
  *message = 0;
  TRY(take_options(options, &o, message));
  world *w = malloc(sizeof *w);
  if (!w)
    return fail(FNZ_NO_MEMORY, "collectives", "out of memory", message);
  *w = (world){.base = {.size = sizeof w->base,
                        .name = "mpi",
                        .self = w,
                        .place = place,
                        .all_reduce = all_reduce,
                        .all_gather = all_gather,
                        .all_to_all = all_to_all,
                        .broadcast = broadcast,
                        .abort = end_all,
                        .destroy = destroy},
               .all = {.comm = MPI_COMM_NULL}};
  fnz_status status = start(w, o.communicator, message);
  for (size_t k = 0; k < o.ngroups && status == FNZ_OK; k++) {
    bool is_first = true;
    for (size_t i = 0; i < k && is_first; i++)
      is_first = strcmp(o.groups[i].name, o.groups[k].name) != 0;
    if (is_first)
      status = name_group(w, &o, k, message);
  }
  if (status != FNZ_OK)
    destroy(w);
  else
    *out = &w->base;
  return status;
}
