/* SPDX-License-Identifier: Apache-2.0 */
/* Sources with every allocation of ours failing in turn: none starts halfway, none leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "source/files/dumps.h"
#include "source/files/files.h"
#include "source/journal.h"
#include "source/kmsg.h"
#include "source/kubernetes/kubernetes.h"
#include "source/ncclras/ncclras.h"
#include "source/nvml/nvml.h"
#include "source/scrape/scrape.h"
#include "source/slurm/slurm.h"
#include "support/faulty.h"

#include <stdlib.h>
#include <unistd.h>

#define CALLS_MAX 40
#define PATHS TC_LIT("/var/log/*.log node=n\n/var/{job}/x\n")

static tc_status make_files(void **out, struct tc_error *err)
{
    struct tc_files_config config = {.paths = PATHS, .poll_ns = TC_SECOND, .line_max = 1024};
    return tc_files_create(&config, out, err);
}

static tc_status make_dumps(void **out, struct tc_error *err)
{
    struct tc_dumps_config config = {.paths = PATHS, .poll_ns = TC_SECOND};
    return tc_dumps_create(&config, out, err);
}

static tc_status make_kmsg(void **out, struct tc_error *err)
{
    struct tc_kmsg_config config = {.path = "/dev/null", .node = TC_LIT("n"), .boot = TC_LIT("b")};
    return tc_kmsg_create(&config, out, err);
}

static tc_status make_journal(void **out, struct tc_error *err)
{
    struct tc_journal_config config = {.directory = "/tmp", .node = TC_LIT("n")};
    return tc_journal_create(&config, out, err);
}

static tc_status make_scrape(void **out, struct tc_error *err)
{
    struct tc_scrape_config config = {.targets = TC_LIT("http://h:1/m\nx=http://h:2/m\n"),
                                      .node = TC_LIT("n"),
                                      .interval_ns = TC_SECOND,
                                      .timeout_ns = TC_SECOND};
    return tc_scrape_create(&config, out, err);
}

static tc_status make_slurm(void **out, struct tc_error *err)
{
    struct tc_slurm_config config = {.sacct = TC_LIT("sacct"), .scontrol = TC_LIT("scontrol")};
    return tc_slurm_create(&config, out, err);
}

static tc_status make_ncclras(void **out, struct tc_error *err)
{
    struct tc_ncclras_config config = {.targets = TC_LIT("h:1\nh:2 job=j\n"), .node = TC_LIT("n")};
    return tc_ncclras_create(&config, out, err);
}

static tc_status make_nvml(void **out, struct tc_error *err)
{
    struct tc_nvml_config config = {.library = "none.so", .node = TC_LIT("n")};
    return tc_nvml_create(&config, out, err);
}

static tc_status make_kubernetes(void **out, struct tc_error *err)
{
    struct tc_kubernetes_config config = {.url = "http://h:1",
                                          .token_file = "",
                                          .ca_file = "",
                                          .cert_file = "",
                                          .key_file = "",
                                          .kubeconfig = "",
                                          .context = "",
                                          .node = TC_LIT("n"),
                                          .watch_ns = TC_SECOND};
    return tc_kubernetes_create(&config, out, err);
}

/* Certificates that are in it are memory, too. */
static void kubeconfig_without_memory(void **state)
{
    static const char TEXT[] =
        "clusters: [{name: a, cluster: {server: 'https://h', certificate-authority-data: Q0E=}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n"
        "users: [{name: a, user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}}]\n";
    char path[] = "/tmp/tc_kubeconfig_XXXXXX";
    int fd = mkstemp(path);
    struct tc_kubernetes_config config = {.url = "",
                                          .token_file = "",
                                          .ca_file = "",
                                          .cert_file = "",
                                          .key_file = "",
                                          .kubeconfig = path,
                                          .context = ""};
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, TEXT, sizeof TEXT - 1), sizeof TEXT - 1);
    assert_int_equal(close(fd), 0);
    long at = 0;
    for (bool hit = true; hit && at < CALLS_MAX; at++) {
        void *source = NULL;
        struct tc_error err = {0};
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = at};
        tc_status status = tc_kubernetes_create(&config, &source, &err);
        hit = tc_faulty_plan->hit;
        *tc_faulty_plan = (struct plan){0};
        assert_int_equal(status, hit ? TC_E_NOMEM : TC_OK);
        tc_source_kubernetes.destroy(source);
    }
    assert_true(at > 6 && at < CALLS_MAX);
    assert_int_equal(unlink(path), 0);
}

static void sources_without_memory(void **state)
{
    static const struct {
        const struct tc_source_kind *kind;
        tc_status (*make)(void **out, struct tc_error *err);
    } kinds[] = {{&tc_source_files, make_files},     {&tc_source_dumps, make_dumps},
                 {&tc_source_kmsg, make_kmsg},       {&tc_source_journal, make_journal},
                 {&tc_source_scrape, make_scrape},   {&tc_source_slurm, make_slurm},
                 {&tc_source_ncclras, make_ncclras}, {&tc_source_kubernetes, make_kubernetes},
                 {&tc_source_nvml, make_nvml}};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        long at = 0;
        for (bool hit = true; hit && at < CALLS_MAX; at++) {
            void *source = NULL;
            struct tc_error err = {0};
            *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = at};
            tc_status status = kinds[i].make(&source, &err);
            hit = tc_faulty_plan->hit;
            *tc_faulty_plan = (struct plan){0};
            assert_int_equal(status, hit ? TC_E_NOMEM : TC_OK);
            kinds[i].kind->destroy(source);
        }
        assert_true(at > 1 && at < CALLS_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sources_without_memory),
                                       cmocka_unit_test(kubeconfig_without_memory)};
    if (tc_faulty_init() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
