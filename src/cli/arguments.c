/*
 * arguments.c: options and operands of a command. See command.h.
 *
 * "--name value", "--name=value", "-o value"; "--" ends options. Unknown options suggest the nearest one.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"

const option_spec common_options[] = {
    {"threads", "N", "threads for the computation (default: all cores)", NULL},
    {"seed", "S", "seed of all that is random (default 0)", NULL},
    {"json", NULL, "one JSON event a line on stdout, for programs", NULL},
    {"quiet", NULL, "no progress on stderr", NULL},
    {"help", NULL, "this help", NULL},
    {NULL, NULL, NULL, NULL},
};

int usage_error(const arguments *a, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fputs("frugal: ", stderr);
    (void)vfprintf(stderr, format, list);
    (void)fprintf(stderr, "\nTry: frugal help %s\n", a->command->name);
    va_end(list);
    return EXIT_USAGE;
}

int report(fr_status status)
{
    if (status == FR_OK)
        return EXIT_DONE;
    (void)fprintf(stderr, "frugal: %s\n", fr_error_message());
    return status == FR_EINTERRUPTED ? EXIT_STOPPED : EXIT_FAILED;
}

void print_event(const char *name, struct cJSON *fields)
{
    fr_json *event = fr_json_object();
    fr_json_add_string(event, "event", name);
    while (fields != NULL && fields->child != NULL) { /* moved over, so that "event" stands first */
        cJSON *item = cJSON_DetachItemViaPointer(fields, fields->child);
        fr_json_add(event, item->string, item);
    }
    char *text = NULL;
    if (fr_json_text(event, false, &text) == FR_OK) {
        (void)printf("%s\n", text);
        (void)fflush(stdout);
    }
    fr_text_free(text);
    fr_json_free(fields);
    fr_json_free(event);
}

static const option_spec *find_in(const option_spec *options, const char *name, size_t length)
{
    for (; options != NULL && options->name != NULL; options++)
        if (strlen(options->name) == length && strncmp(options->name, name, length) == 0)
            return options;
    return NULL;
}

static int unknown_option(const arguments *a, const char *text)
{
    const char *names[MOST_ARGUMENTS];
    int n = 0;
    const option_spec *const lists[] = {a->command->options, common_options};
    for (int list = 0; list < 2; list++)
        for (const option_spec *o = lists[list]; o != NULL && o->name != NULL && n < MOST_ARGUMENTS; o++)
            names[n++] = o->name;
    const char *nearest = fr_nearest_word(text + strspn(text, "-"), names, n);
    if (nearest != NULL)
        return usage_error(a, "unknown option %s; did you mean %s%s?", text, nearest[1] == '\0' ? "-" : "--", nearest);
    return usage_error(a, "unknown option %s", text);
}

/* Whether `value` is one of "a|b|c". */
static bool is_word(const char *words, const char *value)
{
    const size_t length = strlen(value);
    for (const char *word = words; word != NULL; word = strchr(word, '|')) {
        word += *word == '|';
        if (strncmp(word, value, length) == 0 && (word[length] == '|' || word[length] == '\0') && length > 0)
            return true;
    }
    return false;
}

static int take_option(arguments *a, int argc, char **argv, int *i)
{
    const char *text = argv[*i];
    const char *name = text + (text[1] == '-' ? 2 : 1);
    const char *equals = strchr(name, '=');
    const size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const option_spec *spec = find_in(a->command->options, name, length);
    if (spec == NULL)
        spec = find_in(common_options, name, length);
    if (spec == NULL || (text[1] == '-') == (spec->name[1] == '\0'))
        return unknown_option(a, text);
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (spec->value == NULL && value != NULL)
        return usage_error(a, "%s takes no value", text);
    if (spec->value != NULL && value == NULL) {
        if (*i + 1 >= argc)
            return usage_error(a, "%s needs a value (%s)", text, spec->value);
        value = argv[++*i];
    }
    if (spec->words != NULL && !is_word(spec->words, value))
        return usage_error(a, "%s is %s, it must be one of %s", spec->name, value[0] == '\0' ? "empty" : value, spec->words);
    if (a->n_given == MOST_ARGUMENTS)
        return usage_error(a, "more than %d options", MOST_ARGUMENTS);
    a->given[a->n_given].spec = spec;
    a->given[a->n_given++].value = value;
    return EXIT_DONE;
}

int parse_arguments(const command *c, int argc, char **argv, arguments *a)
{
    *a = (arguments){.command = c};
    bool options_over = false;
    for (int i = 0; i < argc; i++) {
        if (!options_over && strcmp(argv[i], "--") == 0) {
            options_over = true;
        } else if (!options_over && argv[i][0] == '-' && argv[i][1] != '\0') {
            const int code = take_option(a, argc, argv, &i);
            if (code != EXIT_DONE)
                return code;
        } else if (a->n_operands == MOST_ARGUMENTS) {
            return usage_error(a, "more than %d operands", MOST_ARGUMENTS);
        } else {
            a->operands[a->n_operands++] = argv[i];
        }
    }
    if (is_given(a, "help"))
        return EXIT_DONE;
    if (a->n_operands < c->least)
        return usage_error(a, "%s needs %s", c->name, c->operands);
    if (a->n_operands > c->most)
        return usage_error(a, "%s: %s is one operand too many", c->name, a->operands[c->most]);
    for (int i = 0; i < a->n_operands; i++)
        if (a->operands[i][0] == '\0')
            return usage_error(a, "%s: operand %d is empty", c->name, i + 1);
    a->quiet = is_given(a, "quiet");
    a->json = is_given(a, "json");
    return EXIT_DONE;
}

const char *text_of(const arguments *a, const char *name, const char *otherwise)
{
    for (int i = a->n_given - 1; i >= 0; i--)
        if (strcmp(a->given[i].spec->name, name) == 0)
            return a->given[i].value != NULL ? a->given[i].value : "";
    return otherwise;
}

bool is_given(const arguments *a, const char *name) { return text_of(a, name, NULL) != NULL; }

bool read_int(const arguments *a, const char *name, int64_t least, int64_t most, int64_t *value)
{
    const char *text = text_of(a, name, NULL);
    if (text == NULL)
        return true;
    int64_t number;
    if (!fr_parse_int(text, &number)) {
        (void)usage_error(a, "--%s is \"%s\", not an integer", name, text);
        return false;
    }
    if (number < least || number > most) {
        (void)usage_error(a, "--%s is %" PRId64 ", outside [%" PRId64 ", %" PRId64 "]", name, number, least, most);
        return false;
    }
    *value = number;
    return true;
}

bool read_double(const arguments *a, const char *name, double least, double most, double *value)
{
    const char *text = text_of(a, name, NULL);
    if (text == NULL)
        return true;
    double number;
    if (!fr_parse_double(text, &number)) {
        (void)usage_error(a, "--%s is \"%s\", not a number", name, text);
        return false;
    }
    if (number < least || number > most) {
        (void)usage_error(a, "--%s is %g, outside [%g, %g]", name, number, least, most);
        return false;
    }
    *value = number;
    return true;
}

bool read_size(const arguments *a, const char *name, int64_t *value)
{
    const char *text = text_of(a, name, NULL);
    if (text == NULL)
        return true;
    if (fr_parse_size(text, value) && *value > 0)
        return true;
    (void)usage_error(a, "--%s is \"%s\", not a size such as 512M or 8G", name, text);
    return false;
}
