/* ranks.c - one process of mpirun: the programs of fixtures/collectives/ranks over libfnz_mpi, and
 * programs that name groups by name and by ranks. Prints a line for each process that was right. */
#include "tests/run/collectives_ranks.h"

#include <fnz/mpi.h>

#include <math.h>
#include <stdlib.h>

static char message[FNZ_COLLECTIVES_MESSAGE_BYTES];

static int say(const char *failure) {
  fprintf(stderr, "%s: %s\n", failure, message);
  return EXIT_FAILURE;
}

static int run_ways(const fnz_collectives *c, int64_t rank, int64_t count) {
  for (int w = 0; w < WAYS; w++) {
    rank_run run = {.rank = rank, .count = count, .way = (way)w};
    if (fnz_context_create(NULL, &run.ctx) != FNZ_OK)
      return say("no context");
    fnz_context_set_collectives(run.ctx, c);
    run_rank(&run);
    fnz_context_destroy(run.ctx);
    if (*run.failure)
      return say(run.failure);
    if (run.compared < 180)
      return say("hardly anything was compared");
  }
  return EXIT_SUCCESS;
}

/* Each process is alone in its own "own", and all are in "back", last rank first. */
static int ask_groups(const fnz_collectives *c, int64_t rank, int64_t count) {
  const fnz_group own = {.name = "own", .tag = ""}, back = {.name = "back", .tag = ""},
                  none = {.name = "none", .tag = ""};
  const int64_t ranks[] = {1, 0}, absent[] = {1 - rank};
  const fnz_group listed = {.name = "", .tag = "", .ranks = ranks, .nranks = 2},
                  others = {.name = "", .tag = "", .ranks = absent, .nranks = 1};
  int64_t at, size;
  if (c->place(c->self, &own, &at, &size, message) != FNZ_OK || at != 0 || size != 1)
    return say("a group of this process alone");
  if (c->place(c->self, &back, &at, &size, message) != FNZ_OK || at != count - 1 - rank)
    return say("a group in another order");
  if (c->place(c->self, &listed, &at, &size, message) != FNZ_OK || at != 1 - rank || size != 2)
    return say("a group of ranks");
  if (c->place(c->self, &none, &at, &size, message) != FNZ_BAD_INPUT || !strstr(message, "--group"))
    return say("a group that nobody has named");
  if (c->place(c->self, &others, &at, &size, message) != FNZ_BAD_INPUT ||
      !strstr(message, "not among"))
    return say("a group of others");
  return EXIT_SUCCESS;
}

/* NaN of either process wins, and both have the same bits of a sum. */
static int reduce_floats(const fnz_collectives *c, int64_t rank) {
  const fnz_group all = {.name = "0", .tag = ""};
  float least[] = {rank ? NAN : 1, rank ? 2 : NAN, (float)rank};
  double most[] = {rank ? NAN : 1, rank ? 2 : NAN, (double)rank};
  uint32_t sum = rank ? 0x7fc00001 : 0x7fc00002, both[2] = {0};
  if (c->all_reduce(c->self, &all, FNZ_REDUCTION_MIN, FNZ_F32, least, 3, message) != FNZ_OK ||
      !isnan(least[0]) || !isnan(least[1]) || least[2] != 0)
    return say("the least of floats");
  if (c->all_reduce(c->self, &all, FNZ_REDUCTION_MAX, FNZ_F64, most, 3, message) != FNZ_OK ||
      !isnan(most[0]) || !isnan(most[1]) || most[2] != 1)
    return say("the most of floats");
  if (c->all_reduce(c->self, &all, FNZ_REDUCTION_SUM, FNZ_F32, &sum, 1, message) != FNZ_OK ||
      c->all_gather(c->self, &all, &sum, sizeof sum, both, message) != FNZ_OK || both[0] != both[1])
    return say("the sum of two NaN");
  return EXIT_SUCCESS;
}

/* Rank 0 awaits two bytes, rank 1 sends one: both get an error. */
static int send_too_little(fnz_collectives *c, int64_t rank) {
  const fnz_group all = {"0", "", NULL, 0};
  const size_t sent[] = {rank ? 1 : 0, 0}, awaited[] = {0, rank ? 0 : 2};
  const char from[2] = {1, 2};
  char to[2] = {0};
  fnz_status status = c->all_to_all(c->self, &all, from, sent, to, awaited, message);
  return status == FNZ_BAD_INPUT ? EXIT_SUCCESS : say("bytes that are not sent");
}

int main(void) {
  static const int64_t ranks[] = {0, 1}, back[] = {1, 0};
  const fnz_mpi_group groups[] = {{"own", ranks, 1}, {"own", ranks + 1, 1}, {"back", back, 2}};
  fnz_mpi_options options = FNZ_MPI_OPTIONS_INIT;
  fnz_collectives *c;
  int64_t rank, count;
  options.groups = groups;
  options.ngroups = 3;
  if (fnz_mpi_collectives_create(&options, &c, message) != FNZ_OK)
    return say("create");
  int failed = c->place(c->self, NULL, &rank, &count, message) != FNZ_OK || count != 2
                   ? say("not two processes")
                   : EXIT_SUCCESS;
  if (!failed)
    failed = ask_groups(c, rank, count);
  if (!failed)
    failed = reduce_floats(c, rank);
  if (!failed)
    failed = send_too_little(c, rank);
  if (!failed)
    failed = run_ways(c, rank, count);
  if (failed)
    c->abort(c->self, EXIT_FAILURE);
  printf("rank %lld is right\n", (long long)rank);
  fflush(stdout);
  c->destroy(c->self);
  return fnz_mpi_collectives_create(NULL, &c, message) == FNZ_UNSUPPORTED ? EXIT_SUCCESS
                                                                          : say("MPI once more");
}
