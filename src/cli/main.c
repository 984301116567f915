/*
 * main.c: finds the command, reads its arguments, runs it.
 */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"

#define COMMAND_POINTER(symbol) &(symbol),
const command *const commands[] = {CLI_COMMANDS(COMMAND_POINTER)};
const int n_commands = (int)(sizeof commands / sizeof *commands);

/* First Ctrl-C: a clean stop with a checkpoint. Second: at once. */
static void on_signal(int number)
{
    if (fr_interrupt_requested())
        (void)signal(number, SIG_DFL);
    fr_interrupt_request();
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
}

/* The command whose words start argv, NULL; *used gets how many. */
static const command *find_command(int argc, char **argv, int *used)
{
    const command *found = NULL;
    *used = 0;
    for (int i = 0; i < n_commands; i++) {
        char first[32], second[32] = "";
        const char *space = strchr(commands[i]->name, ' ');
        (void)snprintf(first, sizeof first, "%.*s", (int)strcspn(commands[i]->name, " "), commands[i]->name);
        if (space != NULL)
            (void)snprintf(second, sizeof second, "%s", space + 1);
        const int words = space != NULL ? 2 : 1;
        if (argc >= words && words > *used && strcmp(argv[0], first) == 0 && (words == 1 || strcmp(argv[1], second) == 0)) {
            found = commands[i];
            *used = words;
        }
    }
    return found;
}

static int unknown_command(int argc, char **argv)
{
    const char *names[MOST_ARGUMENTS];
    int n = 0;
    char words[128];
    (void)snprintf(words, sizeof words, "%s%s%s", argv[0], argc > 1 && argv[1][0] != '-' ? " " : "", argc > 1 && argv[1][0] != '-' ? argv[1] : "");
    for (int i = 0; i < n_commands && n < MOST_ARGUMENTS; i++)
        names[n++] = commands[i]->name;
    const char *nearest = fr_nearest_word(words, names, n);
    if (nearest == NULL)
        nearest = fr_nearest_word(argv[0], names, n);
    (void)fprintf(stderr, "frugal: unknown command \"%s\"%s%s%s\nTry: frugal help\n", words, nearest != NULL ? "; did you mean " : "",
                  nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
    return EXIT_USAGE;
}

static int run_help(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "--man") == 0) {
        print_man(stdout);
        return EXIT_DONE;
    }
    int used;
    const command *c = argc > 0 ? find_command(argc, argv, &used) : NULL;
    if (argc > 0 && c == NULL)
        return unknown_command(argc, argv);
    print_help(stdout, c);
    return EXIT_DONE;
}

static int run_completion(int argc, char **argv)
{
    if (argc == 1 && print_completion(stdout, argv[0]) == EXIT_DONE)
        return EXIT_DONE;
    (void)fputs("frugal: completion needs bash, zsh or fish\n", stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    argc--;
    argv++;
    if (argc == 0) {
        print_help(stderr, NULL);
        return EXIT_USAGE;
    }
    if (strcmp(argv[0], "--version") == 0) {
        (void)printf("frugal %s\n", fr_version());
        return EXIT_DONE;
    }
    if (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return run_help(argc - 1, argv + 1);
    if (strcmp(argv[0], "completion") == 0)
        return run_completion(argc - 1, argv + 1);
    int used;
    const command *c = find_command(argc, argv, &used);
    if (c == NULL)
        return unknown_command(argc, argv);
    arguments a;
    int code = parse_arguments(c, argc - used, argv + used, &a);
    if (code != EXIT_DONE)
        return code;
    if (is_given(&a, "help")) {
        print_help(stdout, c);
        return EXIT_DONE;
    }
    int64_t threads = 0;
    if (!read_int(&a, "threads", 1, 1024, &threads))
        return EXIT_USAGE;
    fr_set_threads((int)threads);
    catch_signals();
    code = c->run(&a);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fputs("frugal: writing to stdout failed\n", stderr);
        code = code == EXIT_DONE ? EXIT_FAILED : code;
    }
    return code;
}
