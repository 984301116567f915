/*
 * Every bad input is refused with a sentence that names its file, leaves no folder and no block behind.
 */
#include "format_test.h"

#define MTX "%%MatrixMarket matrix coordinate real general\n"
#define SYM "%%MatrixMarket matrix coordinate pattern symmetric\n"

typedef struct bad_case {
    const char *name;
    import_function import;
    const char *file, *text;       /* what is wrong; a name that ends with / is a folder */
    const char *sentence;          /* part of what is said, beside the file's name */
    const char *other, *other_text; /* a second file, right */
} bad_case;

static const bad_case text_cases[] = {
    {"one id", fr_import_edges, "a.txt", "0 1\n2\n", ":2:", NULL, NULL},
    {"words", fr_import_edges, "a.txt", "alice bob\n", "alice", NULL, NULL},
    {"negative", fr_import_edges, "a.txt", "0 1\n3 -4\n", "-4", NULL, NULL},
    {"overflow", fr_import_edges, "a.txt", "0 9223372036854775808\n", "two node ids", NULL, NULL},
    {"weight text", fr_import_edges, "a.txt", "0 1 heavy\n", "heavy", NULL, NULL},
    {"weight nan", fr_import_edges, "a.txt", "0 1 nan\n", "finite", NULL, NULL},
    {"weight inf", fr_import_edges, "a.txt", "0 1 1e99\n", "finite", NULL, NULL},
    {"weight on some", fr_import_edges, "a.txt", "0 1 1\n1 2\n", ":2:", NULL, NULL},
    {"trailing", fr_import_edges, "a.txt", "0 1 1 7\n", ":1:", NULL, NULL},
    {"float id", fr_import_edges, "a.txt", "0.5 1\n", ":1:", NULL, NULL},
    {"a folder", fr_import_edges, "a.txt/", "", "regular file", NULL, NULL},
    {"mtx empty", fr_import_mtx, "a.mtx", "", "empty", NULL, NULL},
    {"mtx magic", fr_import_mtx, "a.mtx", "3 3 1\n1 2 3\n", "MatrixMarket", NULL, NULL},
    {"mtx array", fr_import_mtx, "a.mtx", "%%MatrixMarket matrix array real general\n", "array", NULL, NULL},
    {"mtx complex", fr_import_mtx, "a.mtx", "%%MatrixMarket matrix coordinate complex general\n", "complex", NULL, NULL},
    {"mtx hermitian", fr_import_mtx, "a.mtx", "%%MatrixMarket matrix coordinate real hermitian\n", "hermitian", NULL, NULL},
    {"mtx no sizes", fr_import_mtx, "a.mtx", MTX "% only\n", "sizes", NULL, NULL},
    {"mtx sizes", fr_import_mtx, "a.mtx", MTX "3 3\n", "sizes", NULL, NULL},
    {"mtx oblong", fr_import_mtx, "a.mtx", MTX "3 4 0\n", "square", NULL, NULL},
    {"mtx below 0", fr_import_mtx, "a.mtx", MTX "3 3 -1\n", "-1", NULL, NULL},
    {"mtx zero-based", fr_import_mtx, "a.mtx", MTX "3 3 1\n0 1 1\n", "(0, 1)", NULL, NULL},
    {"mtx beyond", fr_import_mtx, "a.mtx", MTX "3 3 1\n4 1 1\n", "(4, 1)", NULL, NULL},
    {"mtx fewer", fr_import_mtx, "a.mtx", MTX "3 3 2\n1 2 1\n", "1 entries", NULL, NULL},
    {"mtx more", fr_import_mtx, "a.mtx", MTX "3 3 1\n1 2 1\n2 3 1\n", "more entries", NULL, NULL},
    {"mtx no value", fr_import_mtx, "a.mtx", MTX "3 3 1\n1 2\n", "finite", NULL, NULL},
    {"mtx nan", fr_import_mtx, "a.mtx", MTX "3 3 1\n1 2 NaN\n", "NaN", NULL, NULL},
    {"mtx extra", fr_import_mtx, "a.mtx", MTX "3 3 1\n1 2 1 9\n", "9", NULL, NULL},
    {"mtx upper", fr_import_mtx, "a.mtx", SYM "3 3 1\n1 2\n", "diagonal", NULL, NULL},
    {"csv no nodes", fr_import_csv, "edges.csv", "source,target\n", "nodes.csv", NULL, NULL},
    {"csv no edges", fr_import_csv, "nodes.csv", "id\na\n", "edges.csv", NULL, NULL},
    {"csv empty", fr_import_csv, "nodes.csv", "", "empty", NULL, NULL},
    {"csv no id", fr_import_csv, "nodes.csv", "name,label\na,1\n", "\"id\"", NULL, NULL},
    {"csv twice", fr_import_csv, "nodes.csv", "id\na\na\n", ":3:", NULL, NULL},
    {"csv empty id", fr_import_csv, "nodes.csv", "id,x\n,1\n", "empty", NULL, NULL},
    {"csv label text", fr_import_csv, "nodes.csv", "id,label\na,cat\n", "cat", NULL, NULL},
    {"csv label below", fr_import_csv, "nodes.csv", "id,label\na,-2\n", "-2", NULL, NULL},
    {"csv split word", fr_import_csv, "nodes.csv", "id,label,split\na,1,dev\n", "dev", NULL, NULL},
    {"csv unlabelled", fr_import_csv, "nodes.csv", "id,label,split\na,,train\n", "no label", NULL, NULL},
    {"csv split alone", fr_import_csv, "nodes.csv", "id,split\na,train\n", "label", NULL, NULL},
    {"csv quote", fr_import_csv, "nodes.csv", "id\n\"a\n", "quote", NULL, NULL},
    {"csv short line", fr_import_csv, "nodes.csv", "id,x,y\na,1\n", "2 fields", NULL, NULL},
    {"csv column twice", fr_import_csv, "nodes.csv", "id,x,x\na,1,1\n", "twice", NULL, NULL},
    {"csv NaN", fr_import_csv, "nodes.csv", "id,x\na,nan\n", "finite", "edges.csv", "source,target\n"},
    {"csv huge", fr_import_csv, "nodes.csv", "id,x\na,1e300\n", "finite", "edges.csv", "source,target\n"},
    {"csv unknown id", fr_import_csv, "edges.csv", "source,target\na,b\n", "\"b\"", "nodes.csv", "id\na\n"},
    {"csv no target", fr_import_csv, "edges.csv", "source,to\na,a\n", "target", "nodes.csv", "id\na\n"},
    {"csv weight", fr_import_csv, "edges.csv", "source,target,weight\na,a,x\n", "weight", "nodes.csv", "id\na\n"},
    {"npz no zip", fr_import_npz, "a.npz", "this is not an archive at all", "zip", NULL, NULL},
    {"npz empty", fr_import_npz, "a.npz", "", "zip", NULL, NULL},
};

static void refuse(const char *name, const char *source, const char *folder, import_function import, const char *file, const char *sentence)
{
    const int64_t live = fr_live_blocks();
    fr_graph_build_counts counts = {0};
    const char *path = path_in(folder, "out.frgraph");
    const fr_status status = import(source, path, &(fr_import_options){0}, &counts);
    if (status == FR_OK)
        fail_msg("%s was taken", name);
    if (strstr(fr_error_message(), file) == NULL || strstr(fr_error_message(), sentence) == NULL)
        fail_msg("%s: \"%s\" lacks \"%s\" or \"%s\"", name, fr_error_message(), file, sentence);
    assert_false(fr_file_exists(path));
    char command[8192];
    (void)snprintf(command, sizeof command, "ls -d '%s'/out* >/dev/null 2>&1", folder);
    if (system(command) == 0)
        fail_msg("%s: something is left", name);
    assert_int_equal(fr_live_blocks(), live);
}

static void bad_text_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof text_cases / sizeof *text_cases; i++) {
        const bad_case *c = &text_cases[i];
        const char *folder = fr_test_folder();
        char file[64];
        (void)snprintf(file, sizeof file, "%s", c->file);
        const size_t n = strlen(file);
        if (file[n - 1] == '/') {
            file[n - 1] = '\0';
            assert_int_equal(fr_folder_create(path_in(folder, file)), FR_OK);
        } else
            write_text(path_in(folder, file), c->text);
        if (c->other != NULL)
            write_text(path_in(folder, c->other), c->other_text);
        const bool missing = strstr(c->sentence, ".csv") != NULL;
        refuse(c->name, c->import == fr_import_csv ? folder : path_in(folder, file), folder, c->import, missing ? c->sentence : file, c->sentence);
        assert_int_equal(fr_folder_remove(folder), FR_OK);
    }
}

static void missing_files_are_named(void **state)
{
    (void)state;
    const char *folder = fr_test_folder();
    refuse("edges", path_in(folder, "no.txt"), folder, fr_import_edges, "no.txt", "");
    refuse("mtx", path_in(folder, "no.mtx"), folder, fr_import_mtx, "no.mtx", "");
    refuse("npz", path_in(folder, "no.npz"), folder, fr_import_npz, "no.npz", "");
    refuse("csv", path_in(folder, "no"), folder, fr_import_csv, "no", "folder");
    refuse("ogb", path_in(folder, "no"), folder, fr_import_ogb, "no", "folder");
    refuse("ogb", folder, folder, fr_import_ogb, "num-node-list.csv.gz", "");
    refuse("planetoid", path_in(folder, "ind.no"), folder, fr_import_planetoid, "ind.no.", "");
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

/* A right folder of three nodes, one file of which is then replaced. */
static void write_ogb(const char *folder)
{
    assert_int_equal(fr_folder_create(path_in(folder, "raw")), FR_OK);
    assert_int_equal(fr_folder_create(path_in(folder, "split/s")), FR_OK);
    write_gz(path_in(folder, "raw/num-node-list.csv.gz"), "3\n");
    write_gz(path_in(folder, "raw/num-edge-list.csv.gz"), "2\n");
    write_gz(path_in(folder, "raw/edge.csv.gz"), "0,1\n1,2\n");
    write_gz(path_in(folder, "raw/node-feat.csv.gz"), "1,2\n3,4\n5,6\n");
    write_gz(path_in(folder, "raw/node-label.csv.gz"), "0\n1\nnan\n");
    write_gz(path_in(folder, "split/s/train.csv.gz"), "0\n");
    write_gz(path_in(folder, "split/s/valid.csv.gz"), "1\n");
    write_gz(path_in(folder, "split/s/test.csv.gz"), "");
}

static void bad_ogb_folders_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text, *sentence;
    } cases[] = {
        {"raw/num-node-list.csv.gz", "", "empty"},
        {"raw/num-node-list.csv.gz", "-3\n", "-3"},
        {"raw/num-node-list.csv.gz", "3\n4\n", "second graph"},
        {"raw/num-edge-list.csv.gz", "many\n", "many"},
        {"raw/num-edge-list.csv.gz", "3\n", "2 lines for 3"},
        {"raw/edge.csv.gz", "0,1\n1,3\n", ":2:"},
        {"raw/edge.csv.gz", "0,1\n-1,2\n", "-1"},
        {"raw/edge.csv.gz", "0,1\n1\n", ":2:"},
        {"raw/node-feat.csv.gz", "1,2\n3,nan\n5,6\n", ":2:"},
        {"raw/node-feat.csv.gz", "1,2\n3\n5,6\n", "1 fields"},
        {"raw/node-feat.csv.gz", "1,2\n3,4\n", "2 lines for 3"},
        {"raw/node-feat.csv.gz", "1,2\n3,4\n5,6\n7,8\n", "more lines"},
        {"raw/node-label.csv.gz", "0\ncat\n1\n", "cat"},
        {"raw/node-label.csv.gz", "0\n0.5\n1\n", "0.5"},
        {"raw/node-label.csv.gz", "0,1\n1,2\n1,1\n", "not 0 or 1"},
        {"split/s/valid.csv.gz", "1\n0\n", "train already"},
        {"split/s/valid.csv.gz", "3\n", "outside"},
        {"split/s/valid.csv.gz", "one\n", "one"},
        {"split/s/test.csv.gz", "2\n", "no label"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *folder = fr_test_folder();
        write_ogb(folder);
        write_gz(path_in(folder, cases[i].file), cases[i].text);
        const char *named = strstr(cases[i].sentence, "no label") != NULL   ? "split"
                            : strstr(cases[i].sentence, "for 3") != NULL ? ".csv"
                                                                         : cases[i].file;
        refuse(cases[i].file, folder, folder, fr_import_ogb, named, cases[i].sentence);
        assert_int_equal(fr_folder_remove(folder), FR_OK);
    }
    const char *folder = fr_test_folder();
    write_ogb(folder);
    fr_graph_free(import_graph(fr_import_ogb, folder, folder, &(fr_import_options){0})); /* the folder itself is right */
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void gzip_cut_anywhere_or_with_a_flipped_byte_is_refused(void **state)
{
    (void)state;
    const char *folder = fr_test_folder();
    char text[4096];
    size_t n = 0, length;
    for (int i = 0; i < 200; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d %d\n", i * 37 % 101, i * 53 % 103);
    write_gz(path_in(folder, "e.gz"), text);
    unsigned char *bytes = read_bytes(path_in(folder, "e.gz"), &length);
    for (size_t cut = 10; cut < length; cut++) {
        write_bytes(path_in(folder, "cut.gz"), bytes, cut);
        refuse("cut", path_in(folder, "cut.gz"), folder, fr_import_edges, "cut.gz", "");
    }
    bytes[length - 6] ^= 1; /* the checksum */
    write_bytes(path_in(folder, "flip.gz"), bytes, length);
    refuse("flip", path_in(folder, "flip.gz"), folder, fr_import_edges, "flip.gz", "gzip");
    free(bytes);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void node_files_that_disagree_are_refused(void **state)
{
    (void)state;
    const char *folder = fr_test_folder();
    static const struct {
        const char *text, *sentence;
        bool labels;
    } cases[] = {
        {"1\n2\n", "2 rows", false},          {"1\n2,3\n4\n", "2 fields", false}, {"1\nx\n3\n", "\"x\"", false},
        {"1\ninf\n3\n", "not a number", false}, {"1\n\"2\n3\n", "quote", false},   {"0,1\n0,1\n0,1\n", "columns of labels", true},
        {"0\n-2\n0\n", "-2", true},
    };
    write_text(path_in(folder, "e.txt"), "0 1\n1 2\n");
    char source[4096], file[4096], path[4096];
    (void)snprintf(source, sizeof source, "%s/e.txt", folder);
    (void)snprintf(file, sizeof file, "%s/table.csv", folder);
    (void)snprintf(path, sizeof path, "%s/out.frgraph", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(file, cases[i].text);
        const fr_import_options options = {.features = cases[i].labels ? NULL : file, .labels = cases[i].labels ? file : NULL};
        assert_int_not_equal(fr_import_edges(source, path, &options, NULL), FR_OK);
        if (strstr(fr_error_message(), "table.csv") == NULL || strstr(fr_error_message(), cases[i].sentence) == NULL)
            fail_msg("case %zu: %s", i, fr_error_message());
        assert_false(fr_file_exists(path));
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(bad_text_is_refused),
    cmocka_unit_test(missing_files_are_named),
    cmocka_unit_test(bad_ogb_folders_are_refused),
    cmocka_unit_test(gzip_cut_anywhere_or_with_a_flipped_byte_is_refused),
    cmocka_unit_test(node_files_that_disagree_are_refused),
};

FR_TEST_MAIN(tests)
