/* SPDX-License-Identifier: Apache-2.0 */
/* Against a library that stands in for NVML (tests/standin/nvml.c): no GPU is involved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/nvml/priv.h"

#include "base/json/out.h"
#include "unit/source/source_testing.h"

#define UUID "GPU-7d3c1a52-9e04-5b6f-a1c8-00000000000"
static char built[] = "/tmp/tc_standin_XXXXXX";
static struct world *w;
static struct tc_error err;

static void build(const char *name, const char *flags)
{
    char command[1024];
    const char *source = getenv("TC_SOURCE_DIR");
    (void)snprintf(command, sizeof command,
                   "cc -w %s -shared -fPIC -o %s/%s %s/tests/standin/nvml.c", flags, built, name,
                   source == NULL ? "." : source);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): paths of our own */
}

static int begin_all(void **state)
{
    char script[64];
    (void)state;
    assert_non_null(mkdtemp(built));
    build("nvml.so", "");
    build("old.so", "-DOLD");
    build("alien.so", "-DALIEN");
    /* Once: a thread that hung in a test before reads the environment whenever it goes on. */
    (void)snprintf(script, sizeof script, "%s/script", built);
    assert_int_equal(setenv("TC_NVML_SCRIPT", script, 1), 0);
    return 0;
}

static int end_all(void **state)
{
    char command[64];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", built);
    return system(command); /* NOLINT(cert-env33-c): a path of our own */
}

/* What the library says from now on: the file is replaced as a whole, since it reads it any time.
 */
static void say(const char *text)
{
    char path[64];
    char fresh[64];
    (void)snprintf(path, sizeof path, "%s/script", built);
    (void)snprintf(fresh, sizeof fresh, "%s/script.new", built);
    write_to(fresh, "w", text, strlen(text));
    assert_int_equal(rename(fresh, path), 0);
}

static int begin(void **state)
{
    (void)state;
    w = world_create();
    say("");
    return 0;
}

static int end(void **state)
{
    (void)state;
    say(""); /* what hangs returns */
    if (w->port != NULL) {
        world_stop(w);
    }
    world_destroy(w);
    return 0;
}

static struct tc_nvml_config config_of(void)
{
    return (struct tc_nvml_config){.node = TC_LIT("gpu-07"),
                                   .interval_ns = TC_SECOND / 10,
                                   .timeout_ns = TC_SECOND / 2,
                                   .metrics = true,
                                   .xids = true};
}

static void start(const char *library, struct tc_nvml_config config)
{
    char path[64];
    void *state = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", built, library);
    config.library = path;
    assert_int_equal(tc_nvml_create(&config, &state, &err), TC_OK);
    world_start(w, &tc_source_nvml, state);
}

static size_t times(const char *text)
{
    (void)pthread_mutex_lock(&w->lock);
    struct tc_slice rest = tc_grow_slice(&w->text);
    size_t count = 0;
    for (size_t at; (at = tc_slice_find(rest, tc_slice_cstr(text))) != TC_NPOS; count++) {
        rest = tc_slice_from(rest, at + strlen(text));
    }
    (void)pthread_mutex_unlock(&w->lock);
    return count;
}

static void await_times(const char *text, size_t count)
{
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    while (times(text) < count) {
        if (tc_mono_ns() > until_ns) {
            fail_msg("never said %zu times: %s", count, text);
        }
        (void)usleep(2000);
    }
}

/* Readings more, from now on. */
static void await_rounds(size_t count)
{
    await_times("# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n",
                times("# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n") + count);
}

static void readings_have_the_names_of_dcgm_exporter(void **state)
{
    static const char *const LINES[] = {"DCGM_FI_DEV_MEMORY_TEMP",
                                        "DCGM_FI_DEV_GPU_UTIL",
                                        "DCGM_FI_DEV_SM_CLOCK",
                                        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
                                        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
                                        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
                                        "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
                                        "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
                                        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
                                        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
                                        "DCGM_FI_DEV_ROW_REMAP_PENDING",
                                        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
                                        "DCGM_FI_DEV_PCIE_LINK_GEN",
                                        "DCGM_FI_DEV_PCIE_MAX_LINK_GEN",
                                        "DCGM_FI_DEV_PCIE_LINK_WIDTH",
                                        "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH",
                                        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
                                        "DCGM_FI_DEV_XID_ERRORS",
                                        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L1",
                                        "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL"};
    (void)state;
    say("temp.0 63\nflit.0.1 7\n");
    start("nvml.so", config_of());
    await_rounds(2);
    struct tc_source_health h = await_health(w, TC_SOURCE_OK);
    assert_int_equal(h.streams, 2);
    assert_true(h.records > 40);
    assert_true(times("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"" UUID
                      "0\",pci_bus_id=\"0000:3b:00.0\",Hostname=\"gpu-07\"} 63\n") > 0);
    assert_true(times("\"} 71.250\n") > 0);
    for (size_t i = 0; i < TC_COUNT(LINES); i++) {
        assert_true(times(LINES[i]) > 0);
    }
    assert_true(times("CRC_FLIT_ERROR_COUNT_TOTAL{gpu=\"0\"") > 0);
    assert_int_equal(times("CRC_FLIT_ERROR_COUNT_L0"), 0); /* nothing to tell */
    assert_int_equal(times("\"kind\":\"gpu_inventory\""), 2);
    assert_int_equal(times("\"message\":\"serial 1654021\""), 1);
    assert_int_equal(times("\"metric\":\"nvlink_state\",\"value\":3"), 4);
}

static void an_xid_is_an_event_at_once(void **state)
{
    struct tc_nvml_config config = config_of();
    (void)state;
    config.interval_ns = 3600 * TC_SECOND;
    start("nvml.so", config);
    await_times("gpu_inventory", 2);
    say("event 1 1 79\nevent 2 0 13\n");
    await_times("\"kind\":\"xid\"", 2);
    assert_int_equal(times("\"gpu.uuid\":\"" UUID "1\",\"pci.bdf\":\"0000:3c:00.0\",\"gpu.index\":"
                           "1,\"xid\":79"),
                     1);
    assert_int_equal(times("\"xid\":13"), 1);
}

static void xids_that_others_tell_of_are_in_the_readings_only(void **state)
{
    struct tc_nvml_config config = config_of();
    (void)state;
    config.xids = false;
    start("nvml.so", config);
    await_rounds(1);
    say("event 1 1 79\n");
    await_times("\"} 79\n", 1);
    assert_int_equal(times("\"kind\":\"xid\""), 0);
    world_stop(w);
    assert_int_equal(w->health.lost, 0);
}

static void readings_may_be_left_to_an_exporter(void **state)
{
    struct tc_nvml_config config = config_of();
    (void)state;
    config.metrics = false;
    start("nvml.so", config);
    await_times("gpu_inventory", 2);
    say("lost 1\n");
    await_times("GPU is lost", 1);
    assert_int_equal(times("DCGM"), 0);
}

static void a_gpu_that_is_lost_is_told_once_and_the_others_go_on(void **state)
{
    (void)state;
    start("nvml.so", config_of());
    await_rounds(1);
    say("lost 1\n");
    await_times("GPU is lost", 1);
    await_rounds(3);
    assert_int_equal(times("\"gpu.uuid\":\"" UUID "1\",\"pci.bdf\":\"0000:3c:00.0\",\"gpu.index\":"
                           "1,\"system\":\"driver\",\"severity\":\"failure\",\"message\":\"GPU is "
                           "lost\""),
                     1);
    assert_int_equal(times("GPU is lost"), 1);
    assert_int_equal(await_health(w, TC_SOURCE_OK).streams, 2);
    say("reset 0\n");
    await_times("GPU requires reset", 1);
}

static void a_link_that_goes_down_is_told(void **state)
{
    (void)state;
    start("nvml.so", config_of());
    await_times("\"value\":3,\"device\":\"1\"", 2);
    say("link.1.1 0\n");
    await_times("\"value\":2,\"device\":\"1\"", 1);
    say("link.1.1 1\n");
    await_times("\"value\":3,\"device\":\"1\"", 3);
    await_rounds(2);
    assert_int_equal(times("nvlink_state"), 6);
}

static void links_that_never_were_up_say_nothing(void **state)
{
    (void)state;
    say("link 0\n");
    start("nvml.so", config_of());
    await_rounds(2);
    assert_int_equal(times("nvlink_state"), 0);
}

static void a_gpu_more_is_found(void **state)
{
    (void)state;
    start("nvml.so", config_of());
    await_times("gpu_inventory", 2);
    say("gpus 3\n");
    await_times("gpu_inventory", 5);
    await_times("{gpu=\"2\"", 1);
}

static void a_call_that_hangs_is_said_and_the_end_does_not_wait_for_it(void **state)
{
    (void)state;
    start("nvml.so", config_of());
    await_rounds(1);
    say("hang temp\n");
    struct tc_source_health h = await_health(w, TC_SOURCE_FAILING);
    assert_non_null(strstr(h.error, "nvmlDeviceGetTemperature has not returned for "));
    say("");
    (void)await_health(w, TC_SOURCE_OK);
    say("hang init\n"); /* only after it was opened: nothing is opened again */
    await_rounds(1);
    say("hang wait\n");
    h = await_health(w, TC_SOURCE_FAILING);
    assert_non_null(strstr(h.error, "nvmlEventSetWait_v2"));
    world_stop(w); /* returns: the thread keeps what it works on */
    say("");
    (void)usleep(200000);
}

static void libraries_that_are_none_are_failures(void **state)
{
    static const struct {
        const char *library;
        const char *script;
        const char *why;
    } CASES[] = {
        {"missing.so", "", "cannot open shared object"},
        {"alien.so", "", "it is no NVML, or too old"},
        {"nvml.so", "code init 9\n", "nvmlInit_v2 gives 9: the driver is not loaded"},
        {"nvml.so", "code init 18\n", "different versions"},
        {"nvml.so", "code init 4321\n", "nvmlInit_v2 gives 4321: an error"},
        {"nvml.so", "code count 999\n", "nvmlDeviceGetCount_v2 gives 999"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(CASES); i++) {
        say(CASES[i].script);
        start(CASES[i].library, config_of());
        struct tc_source_health h = await_health(w, TC_SOURCE_FAILING);
        if (strstr(h.error, CASES[i].why) == NULL) {
            fail_msg("%s: \"%s\"", CASES[i].why, h.error);
        }
        world_stop(w);
    }
    assert_int_equal(w->chunks, 0);
}

static void an_old_library_gives_what_it_has(void **state)
{
    (void)state;
    start("old.so", config_of());
    await_rounds(2);
    assert_true(times("DCGM_FI_DEV_CLOCKS_EVENT_REASONS{") > 0); /* by its old name */
    assert_int_equal(times("REMAPPED"), 0);
    assert_int_equal(times("XID_ERRORS"), 0);
    (void)await_health(w, TC_SOURCE_OK);
}

static void what_a_hostile_library_says_is_bounded(void **state)
{
    (void)state;
    say("hostile\ngpus 4000000000\n");
    start("nvml.so", config_of());
    await_rounds(2);
    assert_int_equal(await_health(w, TC_SOURCE_OK).streams, TC__NVML_GPUS_MAX);
    say("gpus 1\n");
    world_stop(w);
    (void)pthread_mutex_lock(&w->lock);
    struct tc_slice text = tc_grow_slice(&w->text);
    for (size_t i = 0; i < text.len; i++) {
        assert_true(text.ptr[i] == '\n' || (text.ptr[i] >= ' ' && text.ptr[i] < 0x7f));
    }
    (void)pthread_mutex_unlock(&w->lock);
    assert_int_equal(times("serial"), 0);
    assert_int_equal(times("pci"), 0);
}

static void a_guess_without_gpus_is_left_alone(void **state)
{
    struct tc_nvml_config config = config_of();
    (void)state;
    config.is_guess = true;
    say("code init 9\n");
    start("nvml.so", config);
    struct tc_source_health h = await_health(w, TC_SOURCE_OK);
    assert_int_equal(h.streams, 0);
    assert_int_equal(h.errors, 0);
    world_stop(w);
    say("");
    start("nvml.so", config); /* and one that is right is not */
    await_rounds(1);
    assert_int_equal(await_health(w, TC_SOURCE_OK).streams, 2);
}

static void the_library_is_found_where_it_is(void **state)
{
    char path[64];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/nvml.so", built);
    assert_true(tc_nvml_is_there(path));
    assert_false(tc_nvml_is_there("/nowhere/libnvidia-ml.so.1"));
}

static void its_state_is_described(void **state)
{
    char text[2048];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_json_out j = tc_json_out_make(&b);
    (void)state;
    start("nvml.so", config_of());
    await_rounds(1);
    say("event 1 1 79\nlost 1\n");
    await_times("GPU is lost", 1);
    await_times("\"xid\":79", 1);
    tc_json_add_object(&j);
    tc_source_nvml.describe(w->state, &j);
    tc_json_end_object(&j);
    assert_true(
        tc_slice_eq(tc_buf_slice(&b),
                    TC_LIT("{\"driver\":\"550.54.15\",\"gpus\":2,\"gpus_lost\":1,\"xids\":1}")));
    b = tc_buf_make(text, sizeof text);
    tc_source_nvml.metrics(w->state, &b);
    assert_true(tc_slice_contains(tc_buf_slice(&b), TC_LIT("\ntracecore_nvml_gpus 2\n")));
    assert_true(tc_slice_contains(tc_buf_slice(&b), TC_LIT("\ntracecore_nvml_gpus_lost 1\n")));
    assert_true(tc_slice_contains(tc_buf_slice(&b), TC_LIT("\ntracecore_nvml_xids_total 1\n")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(readings_have_the_names_of_dcgm_exporter),
        TEST(an_xid_is_an_event_at_once),
        TEST(xids_that_others_tell_of_are_in_the_readings_only),
        TEST(readings_may_be_left_to_an_exporter),
        TEST(a_gpu_that_is_lost_is_told_once_and_the_others_go_on),
        TEST(a_link_that_goes_down_is_told),
        TEST(links_that_never_were_up_say_nothing),
        TEST(a_gpu_more_is_found),
        TEST(a_call_that_hangs_is_said_and_the_end_does_not_wait_for_it),
        TEST(libraries_that_are_none_are_failures),
        TEST(an_old_library_gives_what_it_has),
        TEST(what_a_hostile_library_says_is_bounded),
        TEST(a_guess_without_gpus_is_left_alone),
        TEST(the_library_is_found_where_it_is),
        TEST(its_state_is_described),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
