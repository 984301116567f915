/*
 * build_edges.c: does importing an edge list hold its memory bound, and how fast is it?
 *
 *     bench_graph_build_edges FRUGAL FOLDER [EDGES [NODES [MEMORY]]]
 *
 * Writes FOLDER/edges.txt, EDGES random pairs among NODES (100 million among 10 million, seeded, streamed), runs
 * "FRUGAL data import edges" with --memory MEMORY (1G), and prints what the child took: wall seconds, lines a second, peak resident
 * memory. Fails where the peak exceeds 1.2 times MEMORY. FOLDER needs about 7 GB; both files are removed at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/text.h"

static int write_edges(const char *path, int64_t n_edges, int64_t n_nodes)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return -1;
    fr_random random = fr_random_start(1, 0);
    for (int64_t e = 0; e < n_edges; e++)
        (void)fprintf(file, "%" PRIu64 "\t%" PRIu64 "\n", fr_random_below(&random, (uint64_t)n_nodes), fr_random_below(&random, (uint64_t)n_nodes));
    return fclose(file);
}

/* Seconds the child took; -1 where it failed. */
static double run(char *const *arguments, int64_t *peak_bytes)
{
    const double started = fr_seconds();
    const pid_t child = fork();
    if (child == 0) {
        (void)execv(arguments[0], arguments);
        _exit(127);
    }
    int state = 0;
    struct rusage usage;
    if (child < 0 || wait4(child, &state, 0, &usage) != child || !WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return -1;
    *peak_bytes = (int64_t)usage.ru_maxrss * 1024;
    return fr_seconds() - started;
}

int main(int argc, char **argv)
{
    int64_t n_edges = 100000000, n_nodes = 10000000, memory = 1 << 30, peak = 0;
    char memory_text[32], edges[4096], graph[4096], seconds_text[32], peak_text[32], bound_text[32];
    if (argc < 3 || (argc > 3 && !fr_parse_int(argv[3], &n_edges)) || (argc > 4 && !fr_parse_int(argv[4], &n_nodes)) ||
        (argc > 5 && !fr_parse_size(argv[5], &memory)) || n_nodes < 1) {
        (void)fprintf(stderr, "usage: %s FRUGAL FOLDER [EDGES [NODES [MEMORY]]]\n", argv[0]);
        return 2;
    }
    (void)snprintf(memory_text, sizeof memory_text, "%" PRId64, memory);
    (void)snprintf(edges, sizeof edges, "%s/edges.txt", argv[2]);
    (void)snprintf(graph, sizeof graph, "%s/g.frgraph", argv[2]);
    if (write_edges(edges, n_edges, n_nodes) != 0) {
        perror(edges);
        return 1;
    }
    char *const arguments[] = {argv[1], "data", "import", "edges", edges, "-o", graph, "--memory", memory_text, "--force", "--quiet", NULL};
    const double seconds = run(arguments, &peak);
    (void)unlink(edges);
    const fr_status removed = fr_folder_remove(graph);
    if (seconds < 0 || removed != FR_OK) {
        (void)fprintf(stderr, "the import failed\n");
        return 1;
    }
    const int64_t bound = memory + memory / 5;
    (void)printf("import edges n=%" PRId64 " nodes=%" PRId64 ": %s, %.3g million lines/s, peak %s of at most %s\n", n_edges, n_nodes,
                 fr_duration_text(seconds, seconds_text, sizeof seconds_text), (double)n_edges / seconds / 1e6,
                 fr_bytes_text(peak, peak_text, sizeof peak_text), fr_bytes_text(bound, bound_text, sizeof bound_text));
    return peak <= bound ? 0 : 1;
}
