/*
 * Replays corpora without libFuzzer: runs the target once on each given file and each file of the given directories,
 * and prints the number of files. No file is a failure, because a test without inputs proves nothing. An input that
 * takes longer than tools/fuzz allows is a failure too.
 */
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "fuzz.h"

enum { INPUT_BYTES_MAX = 1 << 20, INPUT_SECONDS_MAX = 5 };

static double cpu_seconds(void)
{
        struct timespec t = { 0 };
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void replay_file(const char *path)
{
        CLEANUP_FREE char *text = NULL;
        size_t length = 0;
        struct error e = { 0 };
        if (fd_read_file(path, INPUT_BYTES_MAX, &text, &length, &e) < 0) {
                (void)fprintf(stderr, "%s\n", e.text);
                exit(1);
        }
        /* A copy without the NUL that fd_read_file() appends, so that a sanitizer finds reads beyond the end. */
        CLEANUP_FREE uint8_t *data = malloc(length ? length : 1);
        PROMISE(data);
        if (length)
                memcpy(data, text, length);
        double start = cpu_seconds();
        (void)LLVMFuzzerTestOneInput(data, length);
        double spent = cpu_seconds() - start;
        if (spent > INPUT_SECONDS_MAX) {
                (void)fprintf(stderr, "%s: took %.1f s\n", path, spent);
                exit(1);
        }
}

static size_t replay_directory(const char *directory)
{
        struct dirent **entries = NULL;
        int count = scandir(directory, &entries, NULL, alphasort);
        size_t replayed = 0;
        for (int i = 0; i < count; i++) {
                char path[PATH_MAX];
                struct stat st;
                (void)snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
                free(entries[i]);
                if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
                        continue;
                /* Printed before the run, to unbuffered stderr: the last name is the input that crashed. */
                (void)fprintf(stderr, "%s\n", path);
                replay_file(path);
                replayed++;
        }
        free(entries);
        return replayed;
}

int main(int argc, char **argv)
{
        size_t inputs = 0;
        for (int i = 1; i < argc; i++) {
                struct stat st;
                if (stat(argv[i], &st) == 0 && S_ISREG(st.st_mode)) {
                        replay_file(argv[i]);
                        inputs++;
                } else {
                        inputs += replay_directory(argv[i]);
                }
        }
        printf("%zu inputs\n", inputs);
        return inputs ? 0 : 1;
}
