/* User-mode Linux before 6.13 saves 2,696 bytes of a process's floating-point state. Processors with AMX have more, and their kernels
 * take the state as a whole only, so that no process of a guest would start. Preloaded into user-mode Linux, this sets the bytes that
 * it has and leaves the others as they are. */
#define _GNU_SOURCE
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

long ptrace(enum __ptrace_request request, ...)
{
    static char whole[1 << 16];
    struct iovec all = {whole, sizeof whole}, *given;
    va_list rest;
    pid_t process;
    void *address, *data;
    long word, code;
    va_start(rest, request);
    process = va_arg(rest, pid_t);
    address = va_arg(rest, void *);
    data = va_arg(rest, void *);
    va_end(rest);
    if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) {
        given = data;
        if (syscall(SYS_ptrace, PTRACE_GETREGSET, process, address, &all) == 0 && given->iov_len < all.iov_len) {
            memcpy(whole, given->iov_base, given->iov_len);
            data = &all;
        }
    }
    /* The system call stores a word that is looked at; the function returns it. */
    if (request != PTRACE_PEEKTEXT && request != PTRACE_PEEKDATA && request != PTRACE_PEEKUSER)
        return syscall(SYS_ptrace, request, process, address, data);
    code = syscall(SYS_ptrace, request, process, address, &word);
    return code < 0 ? code : word;
}
