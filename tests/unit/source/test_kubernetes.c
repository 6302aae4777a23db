/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/kubernetes/priv.h"
#include "support/http_peer.h"

#include "unit/source/source_testing.h"

#define LIST(version, token, items)                                                 \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\"" token \
    "},\"items\":" items "}"

static struct tc_error err;

/* ---- positions ---- */

static void assert_place(const char *text, bool is_place)
{
    struct tc__kube_place place;
    char bytes[TC_SOURCE_POSITION_MAX];
    struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
    assert_int_equal(tc__kube_place_read(tc_slice_cstr(text), &place), is_place);
    if (is_place) {
        tc__kube_place_write(&b, &place);
        assert_true(tc_slice_eq(tc_buf_slice(&b), tc_slice_cstr(text)));
    }
}

static void positions_are_read_as_written(void **state)
{
    (void)state;
    assert_place("watch 1007", true);
    assert_place("list - - - -", true);
    assert_place("list 1 2 ns/a tok", true);
    assert_place("watch", false);
    assert_place("watch -", false);
    assert_place("watch 1 2", false);
    assert_place("list 1 2 3", false);
    assert_place("list 1 2 3 4 5", false);
    assert_place("list 1 2  4", false);
    assert_place("read 1", false);
    assert_place("", false);
}

static void the_longest_position_fits(void **state)
{
    struct tc__kube_place place = {0};
    char bytes[TC_SOURCE_POSITION_MAX];
    struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
    (void)state;
    memset(place.version, '9', sizeof place.version - 1);
    memset(place.base, '9', sizeof place.base - 1);
    memset(place.key, 'k', sizeof place.key - 1);
    memset(place.token, 't', sizeof place.token - 1);
    tc__kube_place_write(&b, &place);
    assert_false(b.overflowed);
    assert_true(tc__kube_place_read(tc_buf_slice(&b), &place));
}

static void versions_are_compared_as_numbers(void **state)
{
    (void)state;
    assert_true(tc__kube_version_le(TC_LIT("9"), TC_LIT("10")));
    assert_true(tc__kube_version_le(TC_LIT("10"), TC_LIT("10")));
    assert_true(tc__kube_version_le(TC_LIT("0010"), TC_LIT("10")));
    assert_false(tc__kube_version_le(TC_LIT("11"), TC_LIT("10")));
    assert_false(tc__kube_version_le(TC_LIT("a"), TC_LIT("b")));
    assert_false(tc__kube_version_le(TC_LIT(""), TC_LIT("1")));
    assert_false(tc__kube_version_le(TC_LIT("1"), TC_LIT("")));
}

static void words_of_positions_are_bounded(void **state)
{
    char to[4];
    (void)state;
    assert_true(tc__kube_copy(to, sizeof to, TC_LIT("abc")));
    assert_string_equal(to, "abc");
    assert_false(tc__kube_copy(to, sizeof to, TC_LIT("abcd")));
    assert_string_equal(to, "");
    assert_false(tc__kube_copy(to, sizeof to, TC_LIT("a b")));
    assert_false(tc__kube_copy(to, sizeof to, TC_LIT("a\x7f")));
    assert_false(tc__kube_copy(to, sizeof to, TC_LIT("-")));
    assert_true(tc__kube_copy(to, sizeof to, TC_EMPTY));
}

static bool take(struct tc__kube_place *p, const char *list, const char *key, const char *version)
{
    return tc__kube_place_take(p, tc_slice_cstr(list), tc_slice_cstr(key), tc_slice_cstr(version));
}

static void a_list_again_takes_only_what_is_new(void **state)
{
    struct tc__kube_place p;
    (void)state;
    assert_true(tc__kube_place_read(TC_LIT("watch 100"), &p));
    tc__kube_place_relist(&p);
    tc__kube_place_listing(&p, TC_LIT("200"));
    assert_false(p.is_watched);
    assert_false(take(&p, "200", "ns/a", "100"));
    assert_true(take(&p, "200", "ns/b", "101"));
    assert_true(take(&p, "200", "ns/c", "x")); /* not to be compared: rather twice than never */
    assert_string_equal(p.key, "ns/c");
    assert_string_equal(p.version, "200");
    /* It is too old in the middle, and begun again: what came before is known by its key. */
    tc__kube_place_relist(&p);
    tc__kube_place_listing(&p, TC_LIT("300"));
    assert_false(take(&p, "300", "ns/b", "101"));
    assert_true(take(&p, "300", "ns/b2", "250"));
    assert_string_equal(p.key, "ns/c"); /* and the place stays behind that */
    assert_string_equal(p.version, "200");
    assert_true(take(&p, "300", "ns/d", "150"));
    assert_string_equal(p.version, "300");
    assert_true(take(&p, "300", "", "150"));
    assert_string_equal(p.key, "ns/d");
    tc__kube_place_watch(&p, TC_LIT("300"));
    assert_true(p.is_watched && p.base[0] == '\0' && p.key[0] == '\0');
}

static void a_server_that_went_back_is_another(void **state)
{
    struct tc__kube_place p;
    (void)state;
    assert_true(tc__kube_place_read(TC_LIT("watch 100"), &p));
    tc__kube_place_relist(&p);
    tc__kube_place_listing(&p, TC_LIT("100"));
    assert_string_equal(p.base, "100");
    tc__kube_place_listing(&p, TC_LIT("99"));
    assert_string_equal(p.base, "");
    assert_true(take(&p, "99", "ns/a", "7"));
}

/* ---- what the server says ---- */

static void assert_event(const char *line, enum tc__kube_type type, const char *version,
                         int64_t code)
{
    struct tc__kube_event e = tc__kube_event_read(tc_slice_cstr(line));
    assert_int_equal(e.type, type);
    assert_true(tc_slice_eq(e.version, tc_slice_cstr(version)));
    assert_int_equal(e.code, code);
}

static void watch_events_are_read(void **state)
{
    (void)state;
    assert_event("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}",
                 TC__KUBE_OBJECT, "7", 0);
    assert_event("{\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}},\"type\":\"DELETED\"}",
                 TC__KUBE_OBJECT, "7", 0);
    assert_event("{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}",
                 TC__KUBE_OBJECT, "7", 0);
    assert_event("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\"}}}",
                 TC__KUBE_BOOKMARK, "8", 0);
    assert_event("{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"too old\"}}",
                 TC__KUBE_ERROR, "", 410);
    assert_event("{\"type\":\"ERROR\",\"object\":{\"code\":\"x\"}}", TC__KUBE_ERROR, "", 0);
    assert_event("{\"type\":\"ERROR\"}", TC__KUBE_ERROR, "", 0);
    assert_event("{\"type\":\"NEWS\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\"}}}",
                 TC__KUBE_UNKNOWN, "8", 0);
    assert_event("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"a b\"}}}",
                 TC__KUBE_UNKNOWN, "", 0);
    assert_event("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":7}}}",
                 TC__KUBE_UNKNOWN, "", 0);
    assert_event("{\"type\":\"ADDED\"}", TC__KUBE_UNKNOWN, "", 0);
    assert_event("[]", TC__KUBE_UNKNOWN, "", 0);
    assert_event("{\"type\":\"ADDED\",\"object\":{\"metadata\":", TC__KUBE_UNKNOWN, "", 0);
}

static void pages_and_items_are_read(void **state)
{
    struct tc__kube_page page;
    char key[TC__KUBE_KEY_MAX];
    struct tc_slice version;
    (void)state;
    assert_true(tc__kube_page_read(TC_LIT(LIST("5", ",\"continue\":\"tok\"", "[1]")), &page));
    assert_true(tc_slice_eq(page.version, TC_LIT("5")) && tc_slice_eq(page.token, TC_LIT("tok")));
    assert_true(tc__kube_page_read(TC_LIT(LIST("5", "", "null")), &page));
    assert_int_equal(page.token.len, 0);
    assert_false(tc__kube_page_read(TC_LIT(LIST("", "", "[]")), &page));
    assert_false(tc__kube_page_read(TC_LIT(LIST("5", "", "{}")), &page));
    assert_false(tc__kube_page_read(TC_LIT(LIST("5", ",\"continue\":\"a b\"", "[]")), &page));
    assert_false(tc__kube_page_read(TC_LIT("<html>"), &page));
    tc__kube_item_read(
        TC_LIT("{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\",\"resourceVersion\":"
               "\"3\"}}"),
        key, &version);
    assert_string_equal(key, "n/a");
    assert_true(tc_slice_eq(version, TC_LIT("3")));
    tc__kube_item_read(TC_LIT("{\"metadata\":{\"name\":\"a\"}}"), key, &version);
    assert_string_equal(key, "a");
    assert_int_equal(version.len, 0);
    tc__kube_item_read(TC_LIT("{\"metadata\":{\"namespace\":\"a\"}}"), key, &version);
    assert_string_equal(key, "");
}

/* ---- lines ---- */

static char stored[2048];
static uint64_t stored_records;
static bool is_full;

static enum tc__kube_verdict judge(void *context, struct tc_slice line)
{
    (void)context;
    return line.ptr[0] == 'e' ? TC__KUBE_END : line.ptr[0] == 'd' ? TC__KUBE_DROP : TC__KUBE_KEEP;
}

static bool flush(void *context, struct tc_slice lines, uint64_t records)
{
    (void)context;
    if (lines.len < 1024) {
        (void)strncat(stored, lines.ptr, lines.len);
    }
    stored_records += records;
    return !is_full;
}

static const struct tc__kube_lines_ops OPS = {judge, flush, NULL};
static struct tc__kube_lines lines;

static void begin_lines(void)
{
    lines = (struct tc__kube_lines){0};
    stored[0] = '\0';
    stored_records = 0;
    is_full = false;
}

static void lines_are_put_together_whatever_the_pieces(void **state)
{
    struct tc_slice text = TC_LIT("k1\n\nd\nk2\r\n \nk3\nrest");
    (void)state;
    for (size_t step = 1; step <= text.len; step++) {
        begin_lines();
        for (size_t at = 0; at < text.len; at += step) {
            assert_true(
                tc__kube_lines_feed(&lines, tc_slice_head(tc_slice_from(text, at), step), &OPS));
        }
        assert_string_equal(stored, "k1\nk2\r\nk3\n");
        assert_int_equal(stored_records, 3);
        assert_int_equal(lines.used, 4);
        tc__kube_lines_begin(&lines);
        assert_int_equal(lines.used, 0);
    }
}

static void what_is_whole_is_stored_before_an_end(void **state)
{
    (void)state;
    begin_lines();
    assert_false(tc__kube_lines_feed(&lines, TC_LIT("k1\ne\nk2\n"), &OPS));
    assert_string_equal(stored, "k1\n");
    begin_lines();
    is_full = true;
    assert_false(tc__kube_lines_feed(&lines, TC_LIT("k1\n"), &OPS));
}

static void a_line_is_bounded(void **state)
{
    static char text[TC__KUBE_LINE_MAX + 8];
    (void)state;
    begin_lines();
    memset(text, 'x', sizeof text);
    text[TC__KUBE_LINE_MAX - 1] = '\n'; /* just fits, after what was there is stored */
    assert_true(tc__kube_lines_feed(&lines, TC_LIT("k1\n"), &OPS));
    assert_true(tc__kube_lines_feed(&lines, tc_slice_make(text, TC__KUBE_LINE_MAX), &OPS));
    assert_int_equal(stored_records, 2);
    assert_int_equal(lines.lost, 0);
    text[TC__KUBE_LINE_MAX - 1] = 'x';
    assert_true(tc__kube_lines_feed(&lines, tc_slice_make(text, TC__KUBE_LINE_MAX), &OPS));
    assert_true(tc__kube_lines_feed(&lines, TC_LIT("xx"), &OPS));
    assert_int_equal(lines.lost, 1);
    assert_true(tc__kube_lines_feed(&lines, TC_LIT("end of it\nk2\n"), &OPS));
    assert_string_equal(stored, "k1\nk2\n");
    assert_int_equal(stored_records, 3);
    /* The next stream does not begin in the middle of such a line. */
    assert_true(tc__kube_lines_feed(&lines, tc_slice_make(text, sizeof text), &OPS));
    tc__kube_lines_begin(&lines);
    assert_true(tc__kube_lines_feed(&lines, TC_LIT("k3\n"), &OPS));
    assert_string_equal(stored, "k1\nk2\nk3\n");
}

/* ---- accounts ---- */

static void accounts_are_found(void **state)
{
    static struct tc__kube_account a;
    static char name[TC__KUBE_PATH_MAX + 1];
    struct tc_kubernetes_config config = {.url = "",
                                          .token_file = "",
                                          .ca_file = "",
                                          .cert_file = "",
                                          .key_file = "",
                                          .kubeconfig = "",
                                          .context = ""};
    (void)state;
    assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
    assert_false(tc_kubernetes_is_there());
    assert_int_equal(tc__kube_account_find(&config, &a, &err), TC_E_USAGE);
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "6443", 1), 0);
    assert_int_equal(tc__kube_account_find(&config, &a, &err), TC_OK);
    assert_string_equal(a.url, "https://[fd00::1]:6443");
    assert_string_equal(a.ca_file, "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
    config.token_file = "/t";
    assert_int_equal(tc__kube_account_find(&config, &a, &err), TC_OK);
    assert_string_equal(a.token_file, "/t");
    config.url = "https://10.0.0.1:1";
    assert_int_equal(tc__kube_account_find(&config, &a, &err), TC_OK);
    assert_string_equal(a.url, config.url);
    assert_string_equal(a.ca_file, "");
    memset(name, 'x', sizeof name - 1);
    config.url = name;
    assert_int_equal(tc__kube_account_find(&config, &a, &err), TC_E_USAGE);
    assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
    assert_int_equal(unsetenv("KUBERNETES_SERVICE_PORT"), 0);
}

/* ---- kubeconfigs ---- */

#define CLUSTERS                                                                       \
    "apiVersion: v1\nkind: Config\nclusters:\n"                                        \
    "- name: one\n  cluster:\n    server: https://10.0.0.1:6443/\n"                    \
    "    certificate-authority-data: Q0E=\n"                                           \
    "- name: two\n  cluster: {server: 'https://two', certificate-authority: ca.pem}\n" \
    "- name: bare\n  cluster: {server: ''}\n"                                          \
    "- name: blind\n  cluster: {server: 'https://b', insecure-skip-tls-verify: true}\n"
#define CONTEXTS                                                     \
    "contexts:\n- {name: a, context: {cluster: one, user: token}}\n" \
    "- {name: b, context: {cluster: two, user: cert}}\n"             \
    "- {name: c, context: {cluster: two, user: files}}\n"            \
    "- {name: d, context: {cluster: two, user: exec}}\n"             \
    "- {name: e, context: {cluster: none, user: token}}\n"           \
    "- {name: f, context: {cluster: bare, user: token}}\n"           \
    "- {name: g, context: {cluster: blind, user: token}}\n"          \
    "- {name: h, context: {cluster: two, user: bad}}\n"              \
    "- {name: i, context: {cluster: two, user: nobody}}\n"           \
    "- {name: j, context: {cluster: two, user: old}}\n"              \
    "- {name: k, context: {cluster: two, user: blanks}}\n"
#define USERS                                                                            \
    "users:\n- {name: token, user: {token: s3cret}}\n"                                   \
    "- name: cert\n  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}\n" \
    "- name: files\n  user: {client-certificate: /etc/c.pem, client-key: k/key.pem, "    \
    "tokenFile: t, token: other}\n"                                                      \
    "- name: exec\n  user: {exec: {command: aws}}\n"                                     \
    "- name: bad\n  user: {client-key-data: '*'}\n"                                      \
    "- name: old\n  user: {username: u, password: p}\n"                                  \
    "- name: blanks\n  user: {token: \"a b\"}\n"
#define KUBECONFIG CLUSTERS CONTEXTS USERS "current-context: a\n"

static tc_status parse(const char *text, const char *context, struct tc__kube_account *out)
{
    tc__kube_account_fini(out);
    *out = (struct tc__kube_account){0};
    return tc__kube_config_parse(tc_slice_cstr(text), "/etc/tracecore/kube", tc_slice_cstr(context),
                                 out, &err);
}

static void kubeconfigs_are_read(void **state)
{
    static struct tc__kube_account a;
    (void)state;
    assert_int_equal(parse(KUBECONFIG, "", &a), TC_OK);
    assert_string_equal(a.url, "https://10.0.0.1:6443");
    assert_string_equal(a.token, "s3cret");
    assert_int_equal(a.ca_pem.len, 2);
    assert_memory_equal(a.ca_pem.bytes, "CA", 2);
    assert_int_equal(parse(KUBECONFIG, "b", &a), TC_OK);
    assert_string_equal(a.url, "https://two");
    assert_string_equal(a.ca_file, "/etc/tracecore/ca.pem");
    assert_memory_equal(a.cert_pem.bytes, "CERT", 4);
    assert_memory_equal(a.key_pem.bytes, "KEY", 3);
    assert_int_equal(parse(KUBECONFIG, "c", &a), TC_OK);
    assert_string_equal(a.cert_file, "/etc/c.pem");
    assert_string_equal(a.key_file, "/etc/tracecore/k/key.pem");
    assert_string_equal(a.token_file, "/etc/tracecore/t");
    assert_string_equal(a.token, "");
    assert_int_equal(parse(KUBECONFIG, "i", &a), TC_OK); /* nobody in particular */
    tc__kube_account_fini(&a);
}

static void kubeconfigs_that_cannot_be_followed_are_refused(void **state)
{
    static struct tc__kube_account a;
    static const struct {
        const char *text;
        const char *context;
        const char *why;
    } CASES[] = {
        {KUBECONFIG, "d", "logs in by exec, and the daemon runs no programs"},
        {KUBECONFIG, "e", "the cluster \"none\" is not there"},
        {KUBECONFIG, "f", "the cluster has no server"},
        {KUBECONFIG, "g", "insecure-skip-tls-verify"},
        {KUBECONFIG, "h", "client-key-data is no base64"},
        {KUBECONFIG, "j", "username of a user is not read"},
        {KUBECONFIG, "k", "token is none"},
        {KUBECONFIG, "z", "the context \"z\" is not there"},
        {CLUSTERS CONTEXTS USERS, "", "there is no current-context"},
        {"clusters: null\ncontexts: null\ncurrent-context: x\n", "", "the context \"x\""},
        {"- a\n", "", "is no kubeconfig"},
        {"", "", "is no kubeconfig"},
        {"a: [\n", "", "line "},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(CASES); i++) {
        assert_int_equal(parse(CASES[i].text, CASES[i].context, &a), TC_E_USAGE);
        if (strstr(err.message, CASES[i].why) == NULL) {
            fail_msg("%s: \"%s\"", CASES[i].why, err.message);
        }
    }
    tc__kube_account_fini(&a);
}

static void a_kubeconfig_stands_alone(void **state)
{
    static struct tc__kube_account a;
    struct tc_kubernetes_config config = {.url = "http://h:1",
                                          .token_file = "",
                                          .ca_file = "",
                                          .cert_file = "",
                                          .key_file = "",
                                          .kubeconfig = "/nowhere/kubeconfig",
                                          .context = ""};
    (void)state;
    assert_int_equal(tc__kube_account_find(&config, &a, &err), TC_E_USAGE);
    config.url = "";
    assert_int_equal(tc__kube_account_find(&config, &a, &err), TC_E_IO);
    config.kubeconfig = "/dev/zero"; /* longer than any */
    assert_int_equal(tc__kube_account_find(&config, &a, &err), TC_E_USAGE);
    assert_non_null(strstr(err.message, "less than 1024 KiB"));
    tc__kube_account_fini(&a);
}

static const char *token_file = "";

static tc_status create(const char *url, const char *node, void **out)
{
    struct tc_kubernetes_config config = {.url = url,
                                          .token_file = token_file,
                                          .ca_file = "",
                                          .cert_file = "",
                                          .key_file = "",
                                          .kubeconfig = "",
                                          .context = "",
                                          .node = tc_slice_cstr(node),
                                          .watch_ns = TC_SECOND};
    return tc_kubernetes_create(&config, out, &err);
}

static void a_name_that_is_none_is_refused(void **state)
{
    void *source = NULL;
    (void)state;
    assert_int_equal(create("http://h:1", "gpu-01.example", &source), TC_OK);
    tc_source_kubernetes.destroy(source);
    assert_int_equal(create("http://h:1", "a&b=c", &source), TC_E_USAGE);
    assert_int_equal(create("ftp://h:1", "", &source), TC_E_USAGE);
}

/* ---- against a server ---- */

static void what_is_no_api_server_fails(void **state)
{
    static const struct {
        struct peer_step step;
        const char *part;
    } CASES[] = {
        {{.act = PEER_REPLY,
          .text = "HTTP/1.1 302 Found\r\nLocation: http://h/\r\nContent-Length: 0\r\n\r\n"},
         "redirects are not followed"},
        {{.act = PEER_REPLY, .text = "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"}, "token_file"},
        {{.act = PEER_REPLY, .text = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"},
         "bind a ClusterRole"},
        {{.act = PEER_REPLY, .text = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"},
         "is it an API server"},
        {{.act = PEER_REPLY, .text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"}, "no list"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(CASES); i++) {
        char url[64];
        void *source = NULL;
        struct world *w = world_create();
        struct peer *peer = peer_start(&CASES[i].step, 1);
        (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", peer_port(peer));
        assert_int_equal(create(url, "", &source), TC_OK);
        world_start(w, &tc_source_kubernetes, source);
        struct tc_source_health h = await_health(w, TC_SOURCE_FAILING);
        assert_non_null(strstr(h.error, CASES[i].part));
        world_stop(w);
        assert_int_equal(w->chunks, 0);
        peer_stop(peer);
        world_destroy(w);
    }
}

/* One request for each of the three: the next would come a minute later. */
static void a_server_that_asks_for_time_gets_it(void **state)
{
    static const struct peer_step STEP = {
        .act = PEER_REPLY_CLOSE,
        .text = "HTTP/1.1 429 Later\r\nConnection: close\r\nRetry-After: 60\r\n"
                "Content-Length: 0\r\n\r\n"};
    char url[64];
    void *source = NULL;
    struct world *w = world_create();
    struct peer *peer = peer_start(&STEP, 1);
    (void)state;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", peer_port(peer));
    assert_int_equal(create(url, "", &source), TC_OK);
    world_start(w, &tc_source_kubernetes, source);
    assert_true(peer_wait(peer, 3));
    (void)usleep(1200000); /* tries of our own are a quarter of a second apart at first */
    assert_int_equal(peer_requests(peer), 3);
    world_stop(w);
    peer_stop(peer);
    world_destroy(w);
}

/* The same for lists and watches of all three: what is listed is stored, and no watch works. */
static void what_is_listed_is_stored_with_its_version(void **state)
{
    static const char POD[] = "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\"}}";
    static const char LINE[] = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\","
                               "\"resourceVersion\":\"3\"}}}\n";
    char text[512];
    char url[64];
    char all[sizeof LINE * 3];
    void *source = NULL;
    struct world *w = world_create();
    (void)state;
    (void)snprintf(text, sizeof text,
                   "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
                   "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[%s]}",
                   POD);
    const struct peer_step step = {.act = PEER_REPLY_CLOSE, .text = text};
    struct peer *peer = peer_start(&step, 1);
    append(w, "token", "s3cret\n");
    token_file = world_path(w, "token");
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", peer_port(peer));
    assert_int_equal(create(url, "", &source), TC_OK);
    world_start(w, &tc_source_kubernetes, source);
    (void)snprintf(all, sizeof all, "%s%s%s", LINE, LINE, LINE);
    await_text(w, all);
    struct tc_source_health h = await_health(w, TC_SOURCE_FAILING);
    assert_non_null(strstr(h.error, "ends watches at once"));
    world_stop(w);
    assert_int_equal(w->chunks, 3);
    assert_int_equal(w->kept_count, 3);
    for (size_t i = 0; i < w->kept_count; i++) {
        assert_string_equal(w->kept[i].position, "watch 9");
    }
    char *request = peer_request(peer, 0);
    assert_non_null(strstr(request, "GET /api/v1/"));
    assert_non_null(strstr(request, "?limit=100 HTTP/1.1\r\n"));
    assert_non_null(strstr(request, "\r\nAuthorization: Bearer s3cret\r\n"));
    free(request);
    token_file = "";
    peer_stop(peer);
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_are_read_as_written),
        cmocka_unit_test(the_longest_position_fits),
        cmocka_unit_test(versions_are_compared_as_numbers),
        cmocka_unit_test(words_of_positions_are_bounded),
        cmocka_unit_test(a_list_again_takes_only_what_is_new),
        cmocka_unit_test(a_server_that_went_back_is_another),
        cmocka_unit_test(watch_events_are_read),
        cmocka_unit_test(pages_and_items_are_read),
        cmocka_unit_test(lines_are_put_together_whatever_the_pieces),
        cmocka_unit_test(what_is_whole_is_stored_before_an_end),
        cmocka_unit_test(a_line_is_bounded),
        cmocka_unit_test(accounts_are_found),
        cmocka_unit_test(kubeconfigs_are_read),
        cmocka_unit_test(kubeconfigs_that_cannot_be_followed_are_refused),
        cmocka_unit_test(a_kubeconfig_stands_alone),
        cmocka_unit_test(a_name_that_is_none_is_refused),
        cmocka_unit_test(what_is_no_api_server_fails),
        cmocka_unit_test(a_server_that_asks_for_time_gets_it),
        cmocka_unit_test(what_is_listed_is_stored_with_its_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
