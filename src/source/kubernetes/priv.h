/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef TC_SOURCE_KUBERNETES_PRIV_H
#define TC_SOURCE_KUBERNETES_PRIV_H

#include "base/buf.h"
#include "base/json/out.h"
#include "http_client/http_client.h"
#include "source/kubernetes/kubernetes.h"
#include "source/token_priv.h"

#include <pthread.h>

#define TC__KUBE_VERSION_MAX 64
/* "namespace/name" of an object. */
#define TC__KUBE_KEY_MAX 512
/* Of a list that goes on. */
#define TC__KUBE_TOKEN_MAX 2048
/* An object with what stands around it: the loop decodes a chunk in one go. */
#define TC__KUBE_LINE_MAX TC_SOURCE_CHUNK_MAX

/* ---- place.c: how far a resource is stored ---- */

/*
 * While it is watched: all up to `version`. While it is listed: all up to `base` ("": nothing), and
 * up to `version` those objects whose key is not behind `key`: lists come in the order of keys.
 */
struct tc__kube_place {
    bool is_watched;
    char version[TC__KUBE_VERSION_MAX];
    char base[TC__KUBE_VERSION_MAX];
    char key[TC__KUBE_KEY_MAX];
    char token[TC__KUBE_TOKEN_MAX]; /* what goes on with the list; "": from its beginning */
};

/* As a position, and back. False: it is none. */
void tc__kube_place_write(struct tc_buf *b, const struct tc__kube_place *p);
bool tc__kube_place_read(struct tc_slice text, struct tc__kube_place *out);
/* Whether both are numbers, and a is not after b. Others cannot be compared. */
bool tc__kube_version_le(struct tc_slice a, struct tc_slice b);
/* A word for a position: printable, no blanks, shorter than size. */
bool tc__kube_copy(char *to, size_t size, struct tc_slice word);
/* The resource is listed (again), because what came after `version` is gone. */
void tc__kube_place_relist(struct tc__kube_place *p);
/* The list's own version is known: its first page came. */
void tc__kube_place_listing(struct tc__kube_place *p, struct tc_slice version);
/* An object of a list of that version: whether it is not stored yet. What is taken counts as
 * stored with the next position. */
bool tc__kube_place_take(struct tc__kube_place *p, struct tc_slice list_version,
                         struct tc_slice key, struct tc_slice version);
/* The list is over. */
void tc__kube_place_watch(struct tc__kube_place *p, struct tc_slice version);

/* ---- parse.c: what the server says ---- */

enum tc__kube_type {
    TC__KUBE_OBJECT, /* ADDED, MODIFIED, DELETED */
    TC__KUBE_BOOKMARK,
    TC__KUBE_ERROR,
    TC__KUBE_UNKNOWN, /* no watch event, or one without a version */
};

struct tc__kube_event {
    enum tc__kube_type type;
    struct tc_slice version;
    int64_t code; /* of an error: 410; 0: none */
    struct tc_slice message;
};

/* All slices are of the text. */
struct tc__kube_event tc__kube_event_read(struct tc_slice line);

struct tc__kube_page {
    struct tc_slice version;
    struct tc_slice token; /* empty: it is the last */
    struct tc_slice items; /* the array */
};

/* False: it is no list. */
bool tc__kube_page_read(struct tc_slice text, struct tc__kube_page *out);

/* An object of a list; the key goes into a buffer of TC__KUBE_KEY_MAX bytes, "": it has none. */
void tc__kube_item_read(struct tc_slice item, char *out_key, struct tc_slice *out_version);

/* ---- lines.c: a stream cut into lines ---- */

/* Invariant: bytes[0..ready) are whole lines to be stored, bytes[ready..used) the beginning of the
 * next. */
struct tc__kube_lines {
    size_t ready;
    size_t used;
    uint64_t records; /* lines in bytes[0..ready) */
    uint64_t lost;    /* lines that were too long */
    bool is_skipping; /* the rest of one */
    char bytes[TC__KUBE_LINE_MAX];
};

enum tc__kube_verdict { TC__KUBE_KEEP, TC__KUBE_DROP, TC__KUBE_END };

struct tc__kube_lines_ops {
    /* Of a whole line, without its end. */
    enum tc__kube_verdict (*judge)(void *context, struct tc_slice line);
    /* Stores what is ready; false: no more is wanted. */
    bool (*flush)(void *context, struct tc_slice lines, uint64_t records);
    void *context;
};

/* False: no more is wanted. What is whole then is stored. */
bool tc__kube_lines_feed(struct tc__kube_lines *l, struct tc_slice bytes,
                         const struct tc__kube_lines_ops *ops);
/* A stream begins. Of the one before, the beginning of a line is forgotten. */
void tc__kube_lines_begin(struct tc__kube_lines *l);

/* ---- account.c: where the server is, and who asks ---- */

#define TC__KUBE_PATH_MAX 1024

/* A kubeconfig has less; what stands in one for a token, too. */
#define TC__KUBE_CONFIG_MAX ((size_t)1 << 20)
#define TC__KUBE_SECRET_MAX (TC__TOKEN_HEADER_MAX - 64)

/* A certificate or a key that is in no file of its own. */
struct tc__kube_pem {
    char *bytes; /* NULL: none */
    size_t len;
};

struct tc__kube_account {
    char url[TC__KUBE_PATH_MAX];
    char token_file[TC__KUBE_PATH_MAX];
    char ca_file[TC__KUBE_PATH_MAX];
    char cert_file[TC__KUBE_PATH_MAX];
    char key_file[TC__KUBE_PATH_MAX];
    char token[TC__KUBE_SECRET_MAX]; /* "": that of the file, or none */
    struct tc__kube_pem ca_pem;
    struct tc__kube_pem cert_pem;
    struct tc__kube_pem key_pem;
};

/* *out is to be given to _fini, whatever is returned. */
TC_CHECKED tc_status tc__kube_account_find(const struct tc_kubernetes_config *config,
                                           struct tc__kube_account *out, struct tc_error *err);
/* Forgets certificates and keys, which the clients have copies of. */
void tc__kube_account_fini(struct tc__kube_account *a);

/* ---- kubeconfig.c ---- */

/* An empty context: the current one. TC_E_USAGE: what is wrong; TC_E_IO; TC_E_NOMEM. */
TC_CHECKED tc_status tc__kube_config_read(const char *path, struct tc_slice context,
                                          struct tc__kube_account *out, struct tc_error *err);
/* The same of a text; paths in it begin at the folder of `path`. */
TC_CHECKED tc_status tc__kube_config_parse(struct tc_slice text, const char *path,
                                           struct tc_slice context, struct tc__kube_account *out,
                                           struct tc_error *err);

/* ---- kubernetes.c ---- */

#define TC__KUBE_RESOURCES 3

struct tc__kube_resource {
    const char *name; /* "pods" */
    char selector[TC__KUBE_KEY_MAX];
    struct tc_kubernetes *of;
    struct tc_source_port *port;
    struct tc_http_client *client;
    pthread_t thread;
    uint64_t random;
    unsigned page; /* objects of a page */
    struct tc__kube_place place;
    struct tc__kube_lines lines;
    bool is_gone;  /* of the watch: its version is too old */
    bool is_good;  /* something came */
    bool is_told;  /* and counts as a watch that works */
    bool is_moved; /* the last was a bookmark: no bytes, and a new version */
    bool is_loss_said;
    unsigned retry_after_s; /* what the last refusal asked for; 0: nothing */
    char why[TC_ERROR_MESSAGE_MAX];
    /* What follows is guarded by the source's lock. */
    enum tc_source_state state;
    unsigned tries; /* failed, in a row */
    uint64_t lists;
    uint64_t watches;
    uint64_t failures;
    char error[TC_ERROR_MESSAGE_MAX];
};

struct tc_kubernetes {
    pthread_mutex_t lock;
    struct tc__kube_account account;
    int64_t watch_ns;
    size_t count;
    struct tc__kube_resource resources[TC__KUBE_RESOURCES];
};

/* ---- health.c ---- */

void tc__kube_failed(struct tc__kube_resource *r, const char *why);
/* It answered; counts what it did. */
void tc__kube_worked(struct tc__kube_resource *r, bool is_list);
/* See struct tc_source_kind. */
void tc__kube_describe(void *state, struct tc_json_out *j);

#endif
