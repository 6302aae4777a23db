/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/format.h"
#include "support/assert_text.h"

#define FORMATS(wanted, ...)                                  \
    do {                                                      \
        char text[256];                                       \
        struct tc_buf b = tc_buf_make(text, sizeof text);     \
        struct tc_slice got = tc_format(&b, __VA_ARGS__);     \
        assert_true(tc_slice_eq(got, tc_slice_cstr(wanted))); \
    } while (0)

static void a_gpu_goes_by_what_is_known_of_it(void **state)
{
    (void)state;
    struct tc_scope s = TC_SCOPE_NONE;
    s.gpu_uuid = TC_LIT("GPU-aa");
    FORMATS("GPU-aa, GPU-aa", "{}, {}", tc_as_gpu(&s), tc_as_gpu_id(&s));
    s.gpu_uuid = TC_LIT("MIG-aa");
    FORMATS("GPU MIG-aa", "{}", tc_as_gpu(&s));
    s.pci = (struct tc_bdf){.domain = 1, .bus = 0xb3, .device = 2, .function = 3, .known = true};
    FORMATS("GPU 0001:b3:02.3, MIG-aa", "{}, {}", tc_as_gpu(&s), tc_as_gpu_id(&s));
    s.gpu_uuid = TC_EMPTY;
    FORMATS("0001:b3:02.3", "{}", tc_as_gpu_id(&s));
    s.gpu_index = 3;
    FORMATS("GPU 3 (0001:b3:02.3)", "{}", tc_as_gpu(&s));
    s.pci.known = false;
    FORMATS("GPU 3, 3", "{}, {}", tc_as_gpu(&s), tc_as_gpu_id(&s));
}

static void a_pod_goes_by_its_namespace(void **state)
{
    (void)state;
    FORMATS("ml/worker-3", "{}", tc_as_pod(TC_LIT("ml"), TC_LIT("worker-3")));
    FORMATS("worker-3", "{}", tc_as_pod(TC_EMPTY, TC_LIT("worker-3")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_goes_by_what_is_known_of_it),
        cmocka_unit_test(a_pod_goes_by_its_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
