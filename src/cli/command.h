/*
 * command.h: one subcommand as data: its words, options and help; how its arguments are read.
 *
 * Help, the man page, shell completion and the parser all come from these tables, so they cannot disagree. A command is one
 * file; it has no logic that the library lacks.
 */
#ifndef FR_CLI_COMMAND_H
#define FR_CLI_COMMAND_H

#include <frugal/frugal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_STOPPED = 130, MOST_ARGUMENTS = 64 };

typedef struct option_spec {
    const char *name;  /* without dashes; a single letter is "-o" */
    const char *value; /* what stands for its value in help; NULL: a flag */
    const char *help;
    const char *words; /* "a|b|c": the values it takes, for checking and completion; NULL: free */
} option_spec;

typedef struct arguments arguments;

typedef struct command {
    const char *name;        /* "gnn train" */
    const char *operands;    /* "G.frgraph" */
    int least, most;         /* number of operands */
    const char *summary;     /* one line */
    const char *description; /* paragraphs; may be "" */
    const char *example;
    const option_spec *options; /* ends with a NULL name; beside the common ones */
    int (*run)(const arguments *a);
} command;

/** All commands, in the order of help. */
extern const command *const commands[];
extern const int n_commands;
extern const option_spec common_options[];

struct arguments {
    const command *command;
    const char *operands[MOST_ARGUMENTS];
    int n_operands;
    struct {
        const option_spec *spec;
        const char *value;
    } given[MOST_ARGUMENTS];
    int n_given;
    bool quiet, json;
};

/** Reads what follows the command's words. @return EXIT_DONE, or EXIT_USAGE with a sentence printed */
int parse_arguments(const command *c, int argc, char **argv, arguments *a);

bool is_given(const arguments *a, const char *name);
/** The option's value, the last where it is given twice; `otherwise` where it is not. */
const char *text_of(const arguments *a, const char *name, const char *otherwise);

/* Each reads an option into *value where it is given, else leaves it. false: a usage sentence was printed. */
bool read_int(const arguments *a, const char *name, int64_t least, int64_t most, int64_t *value);
bool read_double(const arguments *a, const char *name, double least, double most, double *value);
bool read_size(const arguments *a, const char *name, int64_t *value);

/** Prints "frugal: sentence" for a usage mistake; returns EXIT_USAGE. */
int usage_error(const arguments *a, const char *format, ...) FR_PRINTF(2, 3);
/** Prints the library's sentence and returns the exit code for a status: 130 for a stop on request. */
int report(fr_status status);

/** Prints one JSON event line {"event": name, ..} of a tree built with fr_json_object; frees it. */
struct cJSON;
void print_event(const char *name, struct cJSON *fields);

/* Help in its three forms. */
void print_help(FILE *stream, const command *c); /* NULL: overview */
void print_man(FILE *stream);
int print_completion(FILE *stream, const char *shell);

#endif
