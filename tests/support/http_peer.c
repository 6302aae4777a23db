/* SPDX-License-Identifier: Apache-2.0 */
#include "support/http_peer.h"

#include "base/slice.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUESTS_MAX 4096
#define REQUEST_BYTES ((size_t)16 << 20)

struct peer {
    int listener;
    int stop[2];
    unsigned port;
    const struct peer_step *steps;
    size_t step_count;
    size_t step;
    pthread_t thread;
    pthread_mutex_t lock;
    size_t requests;
    size_t answered;
    size_t connections;
    char *texts[REQUESTS_MAX];
    char *buf;
    size_t have;
};

static bool wait_for(struct peer *p, int fd)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = p->stop[0], .events = POLLIN}};
    return poll(fds, 2, -1) > 0 && fds[1].revents == 0;
}

static size_t request_length(const struct peer *p, bool head_only)
{
    struct tc_slice all = tc_slice_make(p->buf, p->have);
    size_t head = tc_slice_find(all, TC_LIT("\r\n\r\n"));
    if (head == TC_NPOS) {
        return 0;
    }
    uint64_t body = 0;
    size_t at = tc_slice_find(tc_slice_head(all, head), TC_LIT("Content-Length: "));
    if (at != TC_NPOS && !head_only) {
        (void)tc_slice_u64(tc_slice_from(all, at + 16), &body);
    }
    return p->have >= head + 4 + body ? head + 4 + (size_t)body : 0;
}

/* Reads one request into the list; false when the peer is gone or the test is over. */
static bool read_request(struct peer *p, int fd, bool head_only)
{
    size_t len;
    while ((len = request_length(p, head_only)) == 0) {
        if (p->have == REQUEST_BYTES || !wait_for(p, fd)) {
            return false;
        }
        ssize_t n = recv(fd, p->buf + p->have, REQUEST_BYTES - p->have, 0);
        if (n <= 0) {
            return false;
        }
        p->have += (size_t)n;
    }
    (void)pthread_mutex_lock(&p->lock);
    if (p->requests < REQUESTS_MAX) {
        p->texts[p->requests] = strndup(p->buf, len);
    }
    p->requests++;
    (void)pthread_mutex_unlock(&p->lock);
    memmove(p->buf, p->buf + len, p->have - len);
    p->have -= len;
    return true;
}

static void send_text(int fd, const struct peer_step *s)
{
    size_t len = s->len != 0 || s->text == NULL ? s->len : strlen(s->text);
    size_t chunk = s->act == PEER_DRIP ? 1 : len;
    for (size_t at = 0; at < len;) {
        ssize_t n = send(fd, s->text + at, chunk < len - at ? chunk : len - at, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        at += (size_t)n;
        if (s->act == PEER_DRIP) {
            (void)usleep(200);
        }
    }
}

/* One step; false when the connection is to be closed. */
static bool serve_one(struct peer *p, int fd)
{
    const struct peer_step *s = &p->steps[p->step];
    bool last = p->step + 1 == p->step_count;
    if (s->act == PEER_CLOSE_IDLE) {
        p->step += !last;
        return false;
    }
    if (!read_request(p, fd, s->act == PEER_EARLY)) {
        return false;
    }
    p->step += !last;
    if (s->act == PEER_RESET) {
        struct linger hard = {.l_onoff = 1};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    if (s->act == PEER_SILENT) {
        struct pollfd over = {.fd = p->stop[0], .events = POLLIN};
        (void)poll(&over, 1, -1);
    }
    send_text(fd, s);
    (void)pthread_mutex_lock(&p->lock);
    p->answered++;
    (void)pthread_mutex_unlock(&p->lock);
    return s->act == PEER_REPLY || s->act == PEER_DRIP;
}

static void *serve(void *context)
{
    struct peer *p = context;
    while (wait_for(p, p->listener)) {
        int fd = accept(p->listener, NULL, NULL);
        if (fd < 0) {
            continue;
        }
        (void)pthread_mutex_lock(&p->lock);
        p->connections++;
        (void)pthread_mutex_unlock(&p->lock);
        p->have = 0;
        while (serve_one(p, fd)) {
        }
        (void)close(fd);
    }
    return NULL;
}

struct peer *peer_start(const struct peer_step *steps, size_t count)
{
    struct peer *p = calloc(1, sizeof *p);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    if (p == NULL || (p->buf = malloc(REQUEST_BYTES)) == NULL || pipe(p->stop) != 0) {
        abort();
    }
    p->steps = steps;
    p->step_count = count;
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(p->listener, (struct sockaddr *)&address, len) != 0 || listen(p->listener, 8) != 0 ||
        getsockname(p->listener, (struct sockaddr *)&address, &len) != 0) {
        abort();
    }
    p->port = ntohs(address.sin_port);
    (void)pthread_mutex_init(&p->lock, NULL);
    if (pthread_create(&p->thread, NULL, serve, p) != 0) {
        abort();
    }
    return p;
}

unsigned peer_port(const struct peer *p)
{
    return p->port;
}

static size_t read_count(struct peer *p, const size_t *count)
{
    (void)pthread_mutex_lock(&p->lock);
    size_t value = *count;
    (void)pthread_mutex_unlock(&p->lock);
    return value;
}

size_t peer_requests(struct peer *p)
{
    return read_count(p, &p->requests);
}

size_t peer_connections(struct peer *p)
{
    return read_count(p, &p->connections);
}

char *peer_request(struct peer *p, size_t n)
{
    (void)pthread_mutex_lock(&p->lock);
    char *text = n < p->requests && n < REQUESTS_MAX ? strdup(p->texts[n]) : NULL;
    (void)pthread_mutex_unlock(&p->lock);
    return text;
}

bool peer_wait(struct peer *p, size_t count)
{
    for (int i = 0; i < 10000 && read_count(p, &p->answered) < count; i++) {
        (void)usleep(1000);
    }
    return read_count(p, &p->answered) >= count;
}

void peer_stop(struct peer *p)
{
    if (write(p->stop[1], "x", 1) != 1) {
        abort();
    }
    (void)pthread_join(p->thread, NULL);
    (void)close(p->listener);
    (void)close(p->stop[0]);
    (void)close(p->stop[1]);
    for (size_t i = 0; i < REQUESTS_MAX; i++) {
        free(p->texts[i]);
    }
    free(p->buf);
    free(p);
}
