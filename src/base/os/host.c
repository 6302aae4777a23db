/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

bool tc_host_is_loopback(struct tc_slice host)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr four;
    struct in6_addr six;
    if (tc_slice_eq_nocase(host, TC_LIT("localhost"))) {
        return true;
    }
    if (host.len == 0 || host.len >= sizeof text || tc_slice_find_byte(host, '\0') != TC_NPOS) {
        return false;
    }
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    if (inet_pton(AF_INET, text, &four) == 1) {
        return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    return inet_pton(AF_INET6, text, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}
