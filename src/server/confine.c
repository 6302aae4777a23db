/* SPDX-License-Identifier: Apache-2.0 */
#include "server/confine.h"

#include "base/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Landlock ---- */

/* Of later kernels than the headers we are built with. */
#define REFER (UINT64_C(1) << 13)    /* ABI 2: links and renames between folders */
#define TRUNCATE (UINT64_C(1) << 14) /* ABI 3 */

#define WRITES                                                                                     \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                               \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)
/* Without REFER a kernel of ABI 1 refuses all renames from one folder to another: evidence is
 * sealed by one. */
#define ABI_LEAST 2

static bool allow(int ruleset, const char *folder, uint64_t rights)
{
    int fd = open(folder, O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    bool ok = fd >= 0 &&
              syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok;
}

static bool confine_files(const char *const *folders, size_t count)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < ABI_LEAST) {
        return false;
    }
    uint64_t rights = WRITES | REFER | (abi >= 3 ? TRUNCATE : 0);
    struct landlock_ruleset_attr attr = {.handled_access_fs = rights};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    bool ok = ruleset >= 0;
    for (size_t i = 0; ok && i < count; i++) {
        ok = folders[i] == NULL || allow(ruleset, folders[i], rights);
    }
    /* /dev/null and the like: what is written there goes nowhere. */
    ok = ok && allow(ruleset, "/dev", LANDLOCK_ACCESS_FS_WRITE_FILE | (rights & TRUNCATE));
    ok = ok && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    if (ruleset >= 0) {
        (void)close(ruleset);
    }
    return ok;
}

/* ---- seccomp ---- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef ARCH

/* The leak checker of AddressSanitizer stops the threads of its own process by ptrace. */
#ifdef __SANITIZE_ADDRESS__
#define PTRACES
#else
#define PTRACES SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
#endif

/* What no part of the daemon calls: into other processes, the kernel, mounts, the clock. */
static const int CALLS[] = {
    PTRACES SYS_mount,
    SYS_umount2,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_pidfd_getfd,
    SYS_pivot_root,
    SYS_chroot,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_unshare,
    SYS_setns,
    SYS_open_by_handle_at,
    SYS_acct,
    SYS_quotactl,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
};

/* One jump for each, in front of the two ends. */
#define HEAD 5
/* Numbers from here on are the calls of x32, a second set on the same architecture. */
#define X32 0x40000000
#define PROGRAM_LEN (HEAD + TC_COUNT(CALLS) + 2)

static bool confine_calls(void)
{
    struct sock_filter program[PROGRAM_LEN] = {
        /* Numbers of another architecture mean other calls. */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, (uint8_t)(TC_COUNT(CALLS) + 1), 0),
    };
    for (size_t i = 0; i < TC_COUNT(CALLS); i++) {
        program[HEAD + i] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)CALLS[i], (uint8_t)(TC_COUNT(CALLS) - i), 0);
    }
    program[PROGRAM_LEN - 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[PROGRAM_LEN - 1] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog filter = {.len = PROGRAM_LEN, .filter = program};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

#else

static bool confine_calls(void)
{
    return false;
}

#endif

struct tc_confined tc_confine(const char *const *folders, size_t count)
{
    struct tc_confined done = {0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        done.files = confine_files(folders, count);
        done.calls = confine_calls();
    }
    return done;
}
