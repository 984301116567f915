/*
 * text.c: numbers and sizes out of strings; the nearest word. See text.h.
 *
 * Numbers are read in the "C" locale whatever the program has set: "1.5" is one and a half for a
 * German one too.
 */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static bool starts_a_number(const char *text)
{
    return *text != '\0' && !isspace((unsigned char)*text);
}

bool fr_parse_int(const char *text, int64_t *out)
{
    if (!starts_a_number(text))
        return false;
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text)
        return false;
    *out = value;
    return true;
}

static locale_t c_locale; /* 0 where it could not be made: then the program's own is used */
static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static double read_double(const char *text, char **end)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_c_locale);
    return c_locale != (locale_t)0 ? strtod_l(text, end, c_locale) : strtod(text, end);
}

bool fr_parse_double(const char *text, double *out)
{
    if (!starts_a_number(text) || strpbrk(text, "xXnN") != NULL) /* no hexadecimal, nan, inf */
        return false;
    char *end;
    const double value = read_double(text, &end);
    if (*end != '\0' || end == text || !isfinite(value))
        return false;
    *out = value;
    return true;
}

/* Power of 1024 of a suffix: 1 for K to 4 for T; 0 for a byte that is none. */
static int suffix_power(char suffix)
{
    static const char suffixes[] = "KMGT";
    const char *found = suffix != '\0' ? strchr(suffixes, toupper((unsigned char)suffix)) : NULL;
    return found != NULL ? (int)(found - suffixes) + 1 : 0;
}

bool fr_parse_size(const char *text, int64_t *out)
{
    char digits[32];
    const size_t length = strlen(text);
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length + 1);
    const int power = suffix_power(text[length - 1]);
    if (power > 0)
        digits[length - 1] = '\0';
    const int64_t factor = (int64_t)1 << 10 * power;
    int64_t whole;
    if (fr_parse_int(digits, &whole)) /* exact, where a double would round beyond 2^53 */
        return whole >= 0 && !__builtin_mul_overflow(whole, factor, out);
    double value;
    if (!fr_parse_double(digits, &value) || value < 0 || value * (double)factor >= 0x1p62)
        return false;
    value *= (double)factor;
    if (power == 0 && value != floor(value)) /* half a byte */
        return false;
    *out = (int64_t)value;
    return true;
}

/* Reads the item that ends at the next comma; *next moves behind it, to NULL after the last. */
static bool parse_item(const char **next, int64_t *value)
{
    const char *comma = strchr(*next, ',');
    const size_t length = comma != NULL ? (size_t)(comma - *next) : strlen(*next);
    char item[32];
    if (length >= sizeof item)
        return false;
    memcpy(item, *next, length);
    item[length] = '\0';
    *next = comma != NULL ? comma + 1 : NULL;
    return fr_parse_int(item, value);
}

bool fr_parse_int_list(const char *text, int64_t *values, int most, int *n)
{
    int count = 0;
    int64_t value;
    for (const char *next = text; next != NULL;
         count++) /* first without writing: junk changes nothing */
        if (count == most || !parse_item(&next, &value))
            return false;
    *n = count;
    count = 0;
    for (const char *next = text; next != NULL; count++)
        if (!parse_item(&next, &values[count]))
            return false; /* cannot happen: it was read before */
    return true;
}

static int least(int a, int b) { return a < b ? a : b; }

enum { MOST_LETTERS = 63 };

int fr_edit_distance(const char *a, const char *b)
{
    const int n = (int)strnlen(a, MOST_LETTERS), m = (int)strnlen(b, MOST_LETTERS);
    int d[MOST_LETTERS + 1][MOST_LETTERS + 1];
    for (int i = 0; i <= n; i++)
        d[i][0] = i;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            d[i][j] = least(least(d[i - 1][j] + 1, d[i][j - 1] + 1),
                            d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

const char *fr_nearest_word(const char *word, const char *const *candidates, int n)
{
    const int length = (int)strnlen(word, MOST_LETTERS);
    const char *nearest = NULL;
    int least_distance =
        least(length - 1, 1 + length / 3) + 1; /* a third may be wrong, one more, but never all */
    for (int i = 0; i < n; i++) {
        const int distance = fr_edit_distance(word, candidates[i]);
        if (distance < least_distance) {
            nearest = candidates[i];
            least_distance = distance;
        }
    }
    return nearest;
}
