/*
 * Replays corpora without libFuzzer: each file of each directory given goes through the target once. It prints how many
 * there were; none at all is a failure, because a test that tries nothing proves nothing. An input that takes longer
 * than libFuzzer would allow it (tools/fuzz) is a failure too.
 */
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "fuzz.h"

enum { LARGEST_INPUT = 1 << 20, LONGEST_SECONDS = 5 };

static double seconds_of_cpu(void)
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
        if (fd_read_file(path, LARGEST_INPUT, &text, &length, &e) < 0) {
                (void)fprintf(stderr, "%s\n", e.text);
                exit(1);
        }
        /* A copy without the terminator that fd_read_file adds: a read behind the end is an error here. */
        CLEANUP_FREE uint8_t *data = malloc(length ? length : 1);
        PROMISE(data);
        if (length)
                memcpy(data, text, length);
        double start = seconds_of_cpu();
        (void)LLVMFuzzerTestOneInput(data, length);
        double spent = seconds_of_cpu() - start;
        if (spent > LONGEST_SECONDS) {
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
                /* Unbuffered and in advance, so that the input that ends the program is the last one named. */
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
