/* SPDX-License-Identifier: Apache-2.0 */
#include "source/kubernetes/priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What Kubernetes gives each pod. */
#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

bool tc_kubernetes_is_there(void)
{
    const char *host = secure_getenv("KUBERNETES_SERVICE_HOST");
    return host != NULL && host[0] != '\0' && access(ACCOUNT "token", R_OK) == 0;
}

static tc_status copy(char *to, const char *text, const char *otherwise, struct tc_error *err)
{
    const char *from = text[0] != '\0' ? text : otherwise;
    if (strlen(from) >= TC__KUBE_PATH_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "\"%.60s...\" has more than %d bytes", from,
                       TC__KUBE_PATH_MAX - 1);
    }
    memcpy(to, from, strlen(from) + 1);
    return TC_OK;
}

static tc_status cluster_url(char *to, struct tc_error *err)
{
    const char *host = secure_getenv("KUBERNETES_SERVICE_HOST");
    const char *port = secure_getenv("KUBERNETES_SERVICE_PORT");
    if (host == NULL || host[0] == '\0') {
        return tc_fail(err, TC_E_USAGE, 0,
                       "this is no pod of a cluster (KUBERNETES_SERVICE_HOST is not set); set "
                       "sources.kubernetes.url to the address of an API server");
    }
    bool is_six = strchr(host, ':') != NULL;
    int n = snprintf(to, TC__KUBE_PATH_MAX, "https://%s%s%s:%s", is_six ? "[" : "", host,
                     is_six ? "]" : "", port == NULL || port[0] == '\0' ? "443" : port);
    return n < TC__KUBE_PATH_MAX
               ? TC_OK
               : tc_fail(err, TC_E_USAGE, 0, "KUBERNETES_SERVICE_HOST is too long");
}

tc_status tc__kube_account_find(const struct tc_kubernetes_config *config,
                                struct tc__kube_account *out, struct tc_error *err)
{
    bool is_inside = config->url[0] == '\0';
    *out = (struct tc__kube_account){0};
    if (config->kubeconfig[0] != '\0') {
        bool is_alone = is_inside && config->token_file[0] == '\0' && config->ca_file[0] == '\0' &&
                        config->cert_file[0] == '\0' && config->key_file[0] == '\0';
        return is_alone ? tc__kube_config_read(config->kubeconfig, tc_slice_cstr(config->context),
                                               out, err)
                        : tc_fail(err, TC_E_USAGE, 0,
                                  "a kubeconfig says where the server is and who asks: leave url, "
                                  "token_file, ca_file, cert_file and key_file out");
    }
    TC_TRY(is_inside ? cluster_url(out->url, err) : copy(out->url, config->url, "", err));
    TC_TRY(copy(out->token_file, config->token_file, is_inside ? ACCOUNT "token" : "", err));
    TC_TRY(copy(out->ca_file, config->ca_file, is_inside ? ACCOUNT "ca.crt" : "", err));
    TC_TRY(copy(out->cert_file, config->cert_file, "", err));
    return copy(out->key_file, config->key_file, "", err);
}

static void forget(struct tc__kube_pem *pem)
{
    if (pem->bytes != NULL) {
        explicit_bzero(pem->bytes, pem->len);
        free(pem->bytes);
    }
    *pem = (struct tc__kube_pem){0};
}

void tc__kube_account_fini(struct tc__kube_account *a)
{
    forget(&a->ca_pem);
    forget(&a->cert_pem);
    forget(&a->key_pem);
}
