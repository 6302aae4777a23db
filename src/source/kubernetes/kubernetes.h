/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods, events and nodes of a Kubernetes API server: each is listed once and then watched. What is
 * stored are watch events as the server sends them; an object of a list becomes one of type ADDED.
 * The position is the resourceVersion up to which all is stored.
 */
#ifndef TC_SOURCE_KUBERNETES_KUBERNETES_H
#define TC_SOURCE_KUBERNETES_KUBERNETES_H

#include "source/source.h"

struct tc_kubernetes_config {
    const char *url;        /* "": that of the cluster which this process runs in */
    const char *token_file; /* "": the account's in a cluster, none with a url */
    const char *ca_file;    /* likewise */
    const char *cert_file;  /* "": none */
    const char *key_file;
    const char *kubeconfig; /* "": none; otherwise all of the above are "" */
    const char *context;    /* of it; "": the current one */
    struct tc_slice node;   /* only what is of this node; empty: all */
    int64_t watch_ns;       /* how long the server is asked to keep a watch */
};

extern const struct tc_source_kind tc_source_kubernetes;

/* Whether this process runs in a cluster and has an account there. */
bool tc_kubernetes_is_there(void);

/* Copies all; nothing is connected yet. TC_E_USAGE: what is wrong; TC_E_UNSUPPORTED: there is no
 * libcurl; TC_E_IO: a certificate's file cannot be read; TC_E_NOMEM. */
TC_CHECKED tc_status tc_kubernetes_create(const struct tc_kubernetes_config *config,
                                          void **out_state, struct tc_error *err);

#endif
