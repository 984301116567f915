/*
 * help.c: the command tables as help, as a man page, and as completion of three shells.
 */
#include <string.h>

#include "cli/command.h"

static void print_option(FILE *stream, const option_spec *o)
{
    char left[64];
    (void)snprintf(left, sizeof left, "%s%s%s%s", o->name[1] == '\0' ? "-" : "--", o->name, o->value != NULL ? " " : "",
                   o->value != NULL ? o->value : "");
    (void)fprintf(stream, "  %-28s %s\n", left, o->help);
}

static void print_overview(FILE *stream)
{
    (void)fprintf(stream, "frugal %s: the cheapest work is work you don't do.\n\nUsage: frugal COMMAND [OPTION...]\n\n", fr_version());
    for (int i = 0; i < n_commands; i++)
        (void)fprintf(stream, "  %-16s %s\n", commands[i]->name, commands[i]->summary);
    (void)fputs("\n`frugal help COMMAND` shows a command's options and an example.\n"
                "Exit codes: 0 done, 1 failed (one sentence on stderr), 2 usage, 130 stopped on request.\n",
                stream);
}

void print_help(FILE *stream, const command *c)
{
    if (c == NULL) {
        print_overview(stream);
        return;
    }
    (void)fprintf(stream, "frugal %s: %s\n\nUsage: frugal %s%s%s [OPTION...]\n\n", c->name, c->summary, c->name,
                  c->operands[0] != '\0' ? " " : "", c->operands);
    if (c->description[0] != '\0')
        (void)fprintf(stream, "%s\n\n", c->description);
    for (const option_spec *o = c->options; o != NULL && o->name != NULL; o++)
        print_option(stream, o);
    (void)fputs("\nCommon options:\n", stream);
    for (const option_spec *o = common_options; o->name != NULL; o++)
        print_option(stream, o);
    (void)fprintf(stream, "\nExample:\n  %s\n", c->example);
}

/* ---- man ---- */

/* roff takes a leading dot or quote as a request and a hyphen as a hyphen. */
static void print_roff(FILE *stream, const char *text)
{
    bool at_start = true;
    for (; *text != '\0'; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            (void)fputs("\\&", stream);
        if (*text == '-' || *text == '\\')
            (void)fputc('\\', stream);
        (void)fputc(*text, stream);
        at_start = *text == '\n';
    }
}

static void print_man_options(FILE *stream, const option_spec *o)
{
    for (; o != NULL && o->name != NULL; o++) {
        (void)fprintf(stream, ".TP\n.B %s%s", o->name[1] == '\0' ? "\\-" : "\\-\\-", "");
        print_roff(stream, o->name);
        if (o->value != NULL) {
            (void)fputs(" \\fI", stream);
            print_roff(stream, o->value);
            (void)fputs("\\fR", stream);
        }
        (void)fputc('\n', stream);
        print_roff(stream, o->help);
        (void)fputc('\n', stream);
    }
}

void print_man(FILE *stream)
{
    (void)fprintf(stream, ".TH FRUGAL 1 \"\" \"frugal %s\" \"User Commands\"\n.SH NAME\nfrugal \\- a deep\\-learning engine that saves work\n"
                          ".SH SYNOPSIS\n.B frugal\n.I COMMAND\n[\\fIOPTION\\fR...]\n.SH COMMANDS\n",
                  fr_version());
    for (int i = 0; i < n_commands; i++) {
        const command *c = commands[i];
        (void)fputs(".SS frugal ", stream);
        print_roff(stream, c->name);
        (void)fputc(' ', stream);
        print_roff(stream, c->operands);
        (void)fputc('\n', stream);
        print_roff(stream, c->summary);
        (void)fputs(".\n", stream);
        if (c->description[0] != '\0') {
            (void)fputs(".PP\n", stream);
            print_roff(stream, c->description);
            (void)fputc('\n', stream);
        }
        print_man_options(stream, c->options);
        (void)fputs(".PP\nExample:\n.PP\n.nf\n.RS\n", stream);
        print_roff(stream, c->example);
        (void)fputs("\n.RE\n.fi\n", stream);
    }
    (void)fputs(".SH COMMON OPTIONS\n", stream);
    print_man_options(stream, common_options);
    (void)fputs(".SH EXIT STATUS\n0 done, 1 failed (one sentence on stderr), 2 usage, 130 stopped on request.\n", stream);
}

/* ---- completion ---- */

static void print_option_names(FILE *stream, const command *c)
{
    const option_spec *const lists[] = {c->options, common_options};
    for (int list = 0; list < 2; list++)
        for (const option_spec *o = lists[list]; o != NULL && o->name != NULL; o++)
            (void)fprintf(stream, "%s%s ", o->name[1] == '\0' ? "-" : "--", o->name);
}

/* Words after `prefix` (its length n) in the commands' names, each once; n 0: first words. */
static void print_bash(FILE *stream)
{
    (void)fputs("_frugal() {\n  local word=${COMP_WORDS[COMP_CWORD]} line=\"${COMP_WORDS[*]:1:COMP_CWORD-1} \" words=\"\"\n  case \"$line\" in\n", stream);
    for (int i = 0; i < n_commands; i++) {
        (void)fprintf(stream, "    \"%s \"*) words=\"", commands[i]->name);
        print_option_names(stream, commands[i]);
        (void)fputs("\";;\n", stream);
    }
    for (int i = 0; i < n_commands; i++) {
        const char *space = strchr(commands[i]->name, ' ');
        const bool first = space != NULL && (i == 0 || strncmp(commands[i - 1]->name, commands[i]->name, (size_t)(space - commands[i]->name + 1)) != 0);
        if (!first)
            continue;
        (void)fprintf(stream, "    \"%.*s \") words=\"", (int)(space - commands[i]->name), commands[i]->name);
        for (int j = i; j < n_commands && strncmp(commands[j]->name, commands[i]->name, (size_t)(space - commands[i]->name + 1)) == 0; j++)
            (void)fprintf(stream, "%s ", strchr(commands[j]->name, ' ') + 1);
        (void)fputs("\";;\n", stream);
    }
    (void)fputs("    \" \") words=\"", stream);
    for (int i = 0; i < n_commands; i++) {
        const size_t length = strcspn(commands[i]->name, " ");
        if (i == 0 || strncmp(commands[i - 1]->name, commands[i]->name, length) != 0)
            (void)fprintf(stream, "%.*s ", (int)length, commands[i]->name);
    }
    (void)fputs("\";;\n  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $([[ $word == -* ]] || compgen -f -- \"$word\"))\n}\n"
                "complete -o filenames -F _frugal frugal\n",
                stream);
}

static void print_zsh(FILE *stream)
{
    (void)fputs("#compdef frugal\nautoload -U +X bashcompinit && bashcompinit\n", stream);
    print_bash(stream);
}

static void print_fish(FILE *stream)
{
    for (int i = 0; i < n_commands; i++) {
        const command *c = commands[i];
        const size_t length = strcspn(c->name, " ");
        (void)fprintf(stream, "complete -c frugal -n '__fish_use_subcommand' -a '%.*s'\n", (int)length, c->name);
        if (c->name[length] == ' ')
            (void)fprintf(stream, "complete -c frugal -n '__fish_seen_subcommand_from %.*s' -a '%s' -d '%s'\n", (int)length, c->name,
                          c->name + length + 1, c->summary);
        for (const option_spec *o = c->options; o != NULL && o->name != NULL; o++)
            (void)fprintf(stream, "complete -c frugal -n '__fish_seen_subcommand_from %.*s' %s %s%s\n", (int)length, c->name,
                          o->name[1] == '\0' ? "-s" : "-l", o->name, o->value != NULL ? " -r" : "");
    }
}

int print_completion(FILE *stream, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(stream);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(stream);
    else if (strcmp(shell, "fish") == 0)
        print_fish(stream);
    else
        return EXIT_USAGE;
    return EXIT_DONE;
}
