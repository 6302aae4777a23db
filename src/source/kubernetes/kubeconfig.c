/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubeconfig: which server, and who asks. Of its many ways to be somebody those are read that are
 * in the file or in files beside it; programs that make tokens (exec, auth-provider) are refused,
 * since a daemon runs nothing that a file names.
 */
#include "base/base64.h"
#include "base/os/io.h"
#include "base/yaml/tree.h"
#include "source/kubernetes/priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tc_yaml_options OPTIONS = {
    .schema = TC_YAML_CORE_1_2,
    .depth_max = 16,
    .values_max = 65536,
    .keys_max = 4096,
    .anchors_max = 64,
};

/* What is being read, for messages. */
struct reading {
    const char *path;
    const struct tc_yaml_node *root;
    struct tc_error *err;
};

static tc_status wrong(const struct reading *r, const char *what, struct tc_slice name,
                       const char *why)
{
    return tc_fail(r->err, TC_E_USAGE, 0, "%.100s: %s \"%.*s\" %s", r->path, what,
                   TC_FMT(tc_slice_head(name, 60)), why);
}

/* NULL: it has no such member, or a null. */
static const struct tc_yaml_node *member(const struct tc_yaml_node *of, const char *key)
{
    if (of == NULL || of->kind != TC_YAML_MAPPING) {
        return NULL;
    }
    for (const struct tc_yaml_entry *e = tc_yaml_first(of); e != NULL; e = e->next) {
        if (tc_slice_eq(tc_yaml_text(e->key), tc_slice_cstr(key))) {
            return e->value->kind == TC_YAML_NULL ? NULL : e->value;
        }
    }
    return NULL;
}

static struct tc_slice text_of(const struct tc_yaml_node *of, const char *key)
{
    const struct tc_yaml_node *n = member(of, key);
    return n == NULL ? TC_EMPTY : tc_yaml_text(n);
}

/* The mapping `inner` of the entry of that name; NULL: there is none. */
static const struct tc_yaml_node *named(const struct reading *r, const char *list,
                                        struct tc_slice name, const char *inner)
{
    const struct tc_yaml_node *all = member(r->root, list);
    if (all == NULL || all->kind != TC_YAML_LIST) {
        return NULL;
    }
    for (const struct tc_yaml_entry *e = tc_yaml_first(all); e != NULL; e = e->next) {
        if (tc_slice_eq(text_of(e->value, "name"), name)) {
            return member(e->value, inner);
        }
    }
    return NULL;
}

/* The first of the keys that is there; NULL: none is. */
static const char *has_any(const struct tc_yaml_node *of, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (member(of, keys[i]) != NULL) {
            return keys[i];
        }
    }
    return NULL;
}

/* ---- values ---- */

static bool has_zero(struct tc_slice text)
{
    return tc_slice_find_byte(text, '\0') != TC_NPOS;
}

/* A path, from the folder of the kubeconfig unless it is absolute. */
static tc_status take_path(const struct reading *r, struct tc_slice name, char *out)
{
    const char *slash = strrchr(r->path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - r->path) + 1;
    if (name.len == 0) {
        return TC_OK;
    }
    folder = name.ptr[0] == '/' ? 0 : folder;
    if (has_zero(name) || folder + name.len >= TC__KUBE_PATH_MAX) {
        return wrong(r, "the path", name, "is too long, or is none");
    }
    memcpy(out, r->path, folder);
    memcpy(out + folder, name.ptr, name.len);
    out[folder + name.len] = '\0';
    return TC_OK;
}

/* PEM in base64. */
static tc_status take_pem(const struct reading *r, const char *key, struct tc_slice text,
                          struct tc__kube_pem *out)
{
    if (text.len == 0) {
        return TC_OK;
    }
    out->bytes = malloc(text.len / 4 * 3 + 3);
    if (out->bytes == NULL) {
        return tc_fail(r->err, TC_E_NOMEM, 0, "no memory for a certificate");
    }
    if (!tc_base64_get(text, (uint8_t *)out->bytes, &out->len) || out->len == 0) {
        return tc_fail(r->err, TC_E_USAGE, 0, "%.100s: %s is no base64", r->path, key);
    }
    return TC_OK;
}

/* ---- parts ---- */

static tc_status read_cluster(const struct reading *r, const struct tc_yaml_node *cluster,
                              struct tc__kube_account *out)
{
    static const char *const REFUSED[] = {"proxy-url", "tls-server-name"};
    struct tc_slice server = text_of(cluster, "server");
    const char *refused = has_any(cluster, REFUSED, TC_COUNT(REFUSED));
    if (refused != NULL) {
        return tc_fail(r->err, TC_E_USAGE, 0, "%.100s: %s of a cluster is not read", r->path,
                       refused);
    }
    if (tc_slice_eq(text_of(cluster, "insecure-skip-tls-verify"), TC_LIT("true"))) {
        return tc_fail(r->err, TC_E_USAGE, 0,
                       "%.100s: insecure-skip-tls-verify: the server would not be known; give "
                       "certificate-authority-data",
                       r->path);
    }
    if (server.len == 0 || server.len >= sizeof out->url || has_zero(server)) {
        return tc_fail(r->err, TC_E_USAGE, 0, "%.100s: the cluster has no server", r->path);
    }
    memcpy(out->url, server.ptr, server.len);
    out->url[server.len] = '\0';
    while (server.len > 0 && out->url[server.len - 1] == '/') {
        out->url[--server.len] = '\0';
    }
    TC_TRY(take_pem(r, "certificate-authority-data", text_of(cluster, "certificate-authority-data"),
                    &out->ca_pem));
    return out->ca_pem.len > 0
               ? TC_OK
               : take_path(r, text_of(cluster, "certificate-authority"), out->ca_file);
}

static tc_status read_token(const struct reading *r, const struct tc_yaml_node *user,
                            struct tc__kube_account *out)
{
    struct tc_slice token = text_of(user, "token");
    bool is_token = token.len < sizeof out->token;
    if (text_of(user, "tokenFile").len > 0) { /* kubectl prefers it, too */
        return take_path(r, text_of(user, "tokenFile"), out->token_file);
    }
    for (size_t i = 0; is_token && i < token.len; i++) {
        is_token = token.ptr[i] > ' ' && token.ptr[i] < 0x7f;
    }
    if (!is_token) {
        return tc_fail(r->err, TC_E_USAGE, 0, "%.100s: the user's token is none, or too long",
                       r->path);
    }
    memcpy(out->token, token.len > 0 ? token.ptr : "", token.len);
    return TC_OK;
}

static tc_status read_user(const struct reading *r, const struct tc_yaml_node *user,
                           struct tc__kube_account *out)
{
    static const char *const PROGRAMS[] = {"exec", "auth-provider"};
    static const char *const OTHERS[] = {"username", "password", "as", "as-uid", "as-groups"};
    const char *program = has_any(user, PROGRAMS, TC_COUNT(PROGRAMS));
    const char *other = has_any(user, OTHERS, TC_COUNT(OTHERS));
    if (program != NULL) {
        return tc_fail(r->err, TC_E_USAGE, 0,
                       "%.100s: the user logs in by %s, and the daemon runs no programs for that; "
                       "make a service account with a token (kubectl create token) or a client "
                       "certificate",
                       r->path, program);
    }
    if (other != NULL) {
        return tc_fail(r->err, TC_E_USAGE, 0, "%.100s: %s of a user is not read", r->path, other);
    }
    TC_TRY(read_token(r, user, out));
    TC_TRY(take_pem(r, "client-certificate-data", text_of(user, "client-certificate-data"),
                    &out->cert_pem));
    TC_TRY(take_pem(r, "client-key-data", text_of(user, "client-key-data"), &out->key_pem));
    if (out->cert_pem.len == 0) {
        TC_TRY(take_path(r, text_of(user, "client-certificate"), out->cert_file));
    }
    return out->key_pem.len > 0 ? TC_OK : take_path(r, text_of(user, "client-key"), out->key_file);
}

static tc_status read_context(const struct reading *r, struct tc_slice name,
                              struct tc__kube_account *out)
{
    name = name.len > 0 ? name : text_of(r->root, "current-context");
    if (name.len == 0) {
        return tc_fail(r->err, TC_E_USAGE, 0,
                       "%.100s: there is no current-context; name one (sources.kubernetes.context)",
                       r->path);
    }
    const struct tc_yaml_node *context = named(r, "contexts", name, "context");
    if (context == NULL) {
        return wrong(r, "the context", name, "is not there");
    }
    struct tc_slice cluster_name = text_of(context, "cluster");
    struct tc_slice user_name = text_of(context, "user");
    const struct tc_yaml_node *cluster = named(r, "clusters", cluster_name, "cluster");
    const struct tc_yaml_node *user = named(r, "users", user_name, "user");
    if (cluster == NULL) {
        return wrong(r, "the cluster", cluster_name, "is not there");
    }
    TC_TRY(read_cluster(r, cluster, out));
    /* A user that has nothing to show is a user, too. */
    return user == NULL ? TC_OK : read_user(r, user, out);
}

tc_status tc__kube_config_parse(struct tc_slice text, const char *path, struct tc_slice context,
                                struct tc__kube_account *out, struct tc_error *err)
{
    struct tc_yaml_tree tree;
    struct tc_yaml_failure failure = {0};
    tc_status status = tc_yaml_tree_read(text, &OPTIONS, &tree, &failure);
    if (status == TC_E_NOMEM) {
        status = tc_fail(err, status, 0, "no memory for a kubeconfig");
    } else if (status != TC_OK) {
        status = tc_fail(err, TC_E_USAGE, failure.offset, "%.100s: line %u: %.100s", path,
                         failure.problem.at.line, failure.problem.text);
    } else if (tree.root == NULL || tree.root->kind != TC_YAML_MAPPING) {
        status = tc_fail(err, TC_E_USAGE, 0, "%.100s: is no kubeconfig", path);
    } else {
        struct reading r = {.path = path, .root = tree.root, .err = err};
        status = read_context(&r, context, out);
    }
    tc_yaml_tree_fini(&tree);
    return status;
}

tc_status tc__kube_config_read(const char *path, struct tc_slice context,
                               struct tc__kube_account *out, struct tc_error *err)
{
    char *text = malloc(TC__KUBE_CONFIG_MAX);
    if (text == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a kubeconfig");
    }
    ssize_t n = tc_io_read_path(path, text, TC__KUBE_CONFIG_MAX);
    tc_status status = TC_OK;
    if (n < 0) {
        status = tc_fail_errno(err, path);
    } else if ((size_t)n == TC__KUBE_CONFIG_MAX) {
        status = tc_fail(err, TC_E_USAGE, 0, "%.100s: a kubeconfig has less than %zu KiB", path,
                         TC__KUBE_CONFIG_MAX >> 10);
    } else {
        status = tc__kube_config_parse(tc_slice_make(text, (size_t)n), path, context, out, err);
    }
    explicit_bzero(text, TC__KUBE_CONFIG_MAX);
    free(text);
    return status;
}
