/* checks: 9
 * places_test.c - where the command reads and writes: a path that is no file, cannot be read,
 * cannot be written or is full is an I/O error, in every place of a file; the old target stays. */
#include "tests/cli/command.h"

#include <sys/resource.h>

#define PROGRAM FNZ_SOURCE_DIR "/fixtures/cli/slice_write.fnz"
#define INPUTS  FNZ_SOURCE_DIR "/fixtures/cli/x.safetensors"
#define NATIVE  FNZ_SOURCE_DIR "/fixtures/native/"
#define ARCHIVE FNZ_SOURCE_DIR "/fixtures/pt2/kv_cache.pt2"
#define CACHE   FNZ_SOURCE_DIR "/fixtures/pt2/kv_cache.inputs.safetensors"

/* Every place for a file that is read; %s is the file. */
static const char *const readers[] = {
    "convert %s -o out.cbor",
    "run %s --inputs " INPUTS " --outputs out.safetensors",
    "run " PROGRAM " --inputs %s --outputs out.safetensors",
    "run %s --original --inputs " INPUTS,
    "verify %s",
    "verify " PROGRAM " %s",
    "verify " PROGRAM " --inputs %s",
    "show %s",
    "stats %s --json",
    "view %s -o out.html",
    "draw %s -o out.dot",
    "lint %s",
    "explain %s",
    "diff %s " PROGRAM,
    "diff " PROGRAM " %s",
    "ops --ops %s",
    "ops --import %s --tags " NATIVE "tags.yaml",
    "ops --import " NATIVE "functions.yaml --tags %s",
};
enum { READERS = sizeof readers / sizeof *readers };

/* Every place for a file that is written. */
static const char *const writers[] = {
    "convert " ARCHIVE " --to cbor -o %s",
    "convert " ARCHIVE " --to pt2 -o %s",
    "convert " ARCHIVE " --to text --json -o %s",
    "view " ARCHIVE " -o %s",
    "run " ARCHIVE " --inputs " CACHE " --outputs %s",
    "ops --import " NATIVE "functions.yaml --tags " NATIVE "tags.yaml --to tsv -o %s",
};
enum { WRITERS = sizeof writers / sizeof *writers };

static const char *words(const char *format, const char *path) {
  static char text[2048];
  const char *hole = strstr(format, "%s");
  ck_assert_ptr_nonnull(hole);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(hole - format), format, path, hole + 2);
  return text;
}

/* The test's own files only. */
static size_t count_files(void) {
  size_t count = 0;
  DIR *entries = opendir(".");
  ck_assert_ptr_nonnull(entries);
  for (struct dirent *e = readdir(entries); e; e = readdir(entries))
    count++;
  closedir(entries);
  return count;
}

static void no_reader_takes(const char *path) {
  fnz("--version"); /* the streams' files are there */
  size_t files = count_files();
  for (int i = 0; i < READERS; i++) {
    must_fail(words(readers[i], path), 3, "fnz: IO: ");
    ck_assert_msg(count_files() == files, "%s left a file", words(readers[i], path));
  }
}

static void no_writer_takes(const char *path) {
  fnz("--version");
  size_t files = count_files();
  for (int i = 0; i < WRITERS; i++) {
    must_fail(words(writers[i], path), 3, "fnz: IO: ");
    ck_assert_msg(count_files() == files, "%s left a file", words(writers[i], path));
  }
}

START_TEST(what_is_no_file_is_not_read) {
  enter_folder();
  ck_assert_int_eq(mkfifo("pipe", 0600), 0);
  ck_assert_int_eq(symlink("round", "round"), 0);
  no_reader_takes("none");
  no_reader_takes(".");
  no_reader_takes("pipe"); /* it has no writer: no waiting */
  no_reader_takes("round");
  no_reader_takes("/dev/null");
  no_reader_takes("/dev/zero");
}
END_TEST

START_TEST(what_cannot_be_read_is_an_error) {
  enter_folder();
  no_reader_takes("/proc/self/mem");    /* a file whose first byte cannot be read */
  no_reader_takes("/proc/self/status"); /* one that is longer than it says, as if it grew */
  spill("secret", "fnz 1\n");
  ck_assert_int_eq(chmod("secret", 0), 0);
  if (geteuid() != 0) /* root reads all */
    no_reader_takes("secret");
}
END_TEST

START_TEST(a_link_is_read_through) {
  enter_folder();
  ck_assert_int_eq(symlink(PROGRAM, "link"), 0);
  must_work("convert link -o out.cbor");
}
END_TEST

START_TEST(what_is_no_file_is_not_written) {
  enter_folder();
  char text[16] = "";
  ck_assert_int_eq(mkfifo("pipe", 0600), 0);
  ck_assert_int_eq(symlink("elsewhere", "link"), 0);
  spill("file", "precious");
  no_writer_takes(".");
  no_writer_takes("pipe");
  no_writer_takes("link");
  no_writer_takes("/dev/full");
  no_writer_takes("/dev/null");
  no_writer_takes("nowhere/out");
  no_writer_takes("file/out");
  no_writer_takes("/proc/out");
  ck_assert_int_eq(readlink("link", text, sizeof text - 1), 9);
  ck_assert(!exists("elsewhere"));
}
END_TEST

START_TEST(a_name_can_be_too_long) {
  enter_folder();
  char name[300];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  no_writer_takes(name);
  no_reader_takes(name);
}
END_TEST

START_TEST(a_program_is_not_its_own_output) {
  enter_folder();
  char want[ROOM], got[ROOM];
  must_work("convert " PROGRAM " -o a.fnz");
  slurp("a.fnz", want);
  must_fail("convert a.fnz -o a.fnz --verify", 64,
            "fnz: ARGUMENT: convert: -o a.fnz is what is read");
  slurp("a.fnz", got);
  ck_assert_str_eq(got, want);
}
END_TEST

/* Runs in a process whose files may have so many bytes; returns the exit code, stderr is in
 * .err. */
static int fnz_with_room(const char *call, rlim_t room) {
  char text[2048], *argv[ARGS];
  int result;
  split(call, text, sizeof text, argv);
  pid_t child = fork();
  if (child == 0) {
    int err = open(".err", O_WRONLY | O_TRUNC), out = open("/dev/null", O_WRONLY);
    const struct rlimit few = {room, room};
    if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0 &&
        setrlimit(RLIMIT_FSIZE, &few) == 0)
      execv(command_path(), argv);
    _exit(127);
  }
  ck_assert_int_eq(waitpid(child, &result, 0), child);
  ck_assert(WIFEXITED(result));
  return WEXITSTATUS(result);
}

/* A file may have 1,100 bytes, more than what runtime libraries keep in files and less than any
 * output: the first write is short, the next one fails. */
START_TEST(a_full_disk_leaves_the_old_file) {
  enter_folder();
  char text[ROOM];
  spill("out", "precious");
  fnz("--version");
  size_t files = count_files();
  for (int i = 0; i < 2 * WRITERS; i++) {
    const char *call = words(writers[i / 2], i % 2 ? "new" : "out");
    int code = fnz_with_room(call, 1100);
    slurp(".err", text);
    ck_assert_msg(code == 3, "%s: exit %d: %s", call, code, text);
    ck_assert_msg(strncmp(text, "fnz: IO: ", 9) == 0, "%s: %s", call, text);
    slurp("out", text);
    ck_assert_str_eq(text, "precious");
    ck_assert_uint_eq(count_files(), files);
  }
}
END_TEST

/* Closed or full streams: the printed text is lost, and the exit code reports it. */
START_TEST(streams_that_take_nothing) {
  enter_folder();
  static const char *const printers[] = {"--version",
                                         "--help",
                                         "ops",
                                         "show " PROGRAM,
                                         "stats " PROGRAM,
                                         "lint " PROGRAM,
                                         "explain " PROGRAM,
                                         "verify " PROGRAM,
                                         "convert " PROGRAM,
                                         "draw " PROGRAM,
                                         "convert " PROGRAM " --json -o out.cbor",
                                         "diff " PROGRAM " " PROGRAM " --json",
                                         "run " PROGRAM " --inputs " INPUTS,
                                         "convert " ARCHIVE " --to pt2"};
  static const char *const ends[] = {NULL, "/dev/full"};
  for (size_t i = 0; i < 2 * sizeof printers / sizeof *printers; i++) {
    outcome *o = fnz_with(printers[i / 2], "/dev/null", ends[i % 2], environ);
    ck_assert_msg(o->code == 3, "%s: exit %d: %s", printers[i / 2], o->code, o->err);
    has(o->err, "fnz: IO: standard output: ");
  }
}
END_TEST

START_TEST(a_closed_stream_becomes_no_file) {
  enter_folder();
  char want[ROOM], got[ROOM];
  must_work("convert " PROGRAM " -o want.fnz");
  ck_assert_int_eq(fnz_with("convert " PROGRAM " -o a.fnz", NULL, NULL, environ)->code, 0);
  slurp("want.fnz", want);
  slurp("a.fnz", got);
  ck_assert_str_eq(got, want);
  outcome *o = fnz_with("show -", NULL, ".out", environ);
  ck_assert_int_eq(o->code, 3);
  has(o->err, "fnz: IO: standard input: ");
}
END_TEST

RUN_SUITE("places", what_is_no_file_is_not_read, what_cannot_be_read_is_an_error,
          a_link_is_read_through, what_is_no_file_is_not_written, a_name_can_be_too_long,
          a_program_is_not_its_own_output, a_full_disk_leaves_the_old_file,
          streams_that_take_nothing, a_closed_stream_becomes_no_file)
