/* SPDX-License-Identifier: Apache-2.0 */
/* TLS over loopback, with certificates made here; client and server in one thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEPS_MAX 20000

static struct net_probe probe;
static char folder[] = "/tmp/tc_tls_XXXXXX";
static char cert_path[64];
static char key_path[64];
static uint16_t port;
static SSL_CTX *client;

/* A key and a certificate of it with that serial number, into two files. */
static void make_certificate(const char *cert_file, const char *key_file, long serial)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    assert_true(key != NULL && x != NULL);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(x), serial), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(x), -3600));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(x), 3600));
    X509_NAME *name = X509_get_subject_name(x);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                                (const unsigned char *)"localhost", -1, -1, 0),
                     1);
    assert_int_equal(X509_set_issuer_name(x, name), 1);
    assert_int_equal(X509_set_pubkey(x, key), 1);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    FILE *f = fopen(cert_file, "w");
    assert_true(f != NULL && PEM_write_X509(f, x) == 1 && fclose(f) == 0);
    f = fopen(key_file, "w");
    assert_true(f != NULL && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1 &&
                fclose(f) == 0);
    X509_free(x);
    EVP_PKEY_free(key);
}

static int group_setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(cert_path, sizeof cert_path, "%s/cert.pem", folder);
    (void)snprintf(key_path, sizeof key_path, "%s/key.pem", folder);
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    (void)unlink(cert_path);
    (void)unlink(key_path);
    return rmdir(folder);
}

static tc_status listen_with(const struct tc_proto *proto, struct tc_error *err)
{
    struct tc_net_tls tls = {.cert_path = cert_path, .key_path = key_path};
    return tc_net_listen(probe.net, "127.0.0.1:0", proto, &probe.service, &tls, &port, err);
}

static int setup(void **state)
{
    struct tc_error err = {0};
    struct tc_net_limits limits = net_probe_limits();
    (void)state;
    make_certificate(cert_path, key_path, 1);
    net_probe_init(&probe, &limits, (size_t)8 << 20);
    assert_int_equal(listen_with(&tc_proto_http, &err), TC_OK);
    client = SSL_CTX_new(TLS_client_method());
    assert_non_null(client);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    SSL_CTX_free(client);
    net_probe_fini(&probe);
    return 0;
}

static void step(void)
{
    assert_int_not_equal(event_base_loop(tc_net_base(probe.net), EVLOOP_NONBLOCK), -1);
}

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static bool again(SSL *ssl, int result)
{
    int why = SSL_get_error(ssl, result);
    step();
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

/* NULL when the handshake failed. */
static SSL *handshake(int fd)
{
    SSL *ssl = SSL_new(client);
    assert_true(ssl != NULL && SSL_set_fd(ssl, fd) == 1);
    for (int i = 0; i < STEPS_MAX; i++) {
        int result = SSL_connect(ssl);
        if (result == 1) {
            return ssl;
        }
        if (!again(ssl, result)) {
            break;
        }
    }
    SSL_free(ssl);
    return NULL;
}

static void say(SSL *ssl, const char *bytes, size_t len)
{
    for (int i = 0; i < STEPS_MAX && len > 0; i++) {
        int n = SSL_write(ssl, bytes, (int)len);
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else {
            assert_true(again(ssl, n));
        }
        step();
    }
    assert_int_equal(len, 0);
}

/* Reads that many bytes; fewer when the end came. */
static size_t hear(SSL *ssl, char *out, size_t len)
{
    size_t got = 0;
    for (int i = 0; i < STEPS_MAX && got < len; i++) {
        int n = SSL_read(ssl, out + got, (int)(len - got));
        if (n > 0) {
            got += (size_t)n;
        } else if (!again(ssl, n)) {
            break;
        }
    }
    return got;
}

static void hang_up(SSL *ssl, int fd)
{
    (void)SSL_shutdown(ssl);
    SSL_free(ssl);
    (void)close(fd);
    for (int i = 0; i < STEPS_MAX && tc_net_connections(probe.net) > 0; i++) {
        step();
    }
    assert_int_equal(tc_net_connections(probe.net), 0);
}

static void requests_over_tls(void **state)
{
    (void)state;
    static const char request[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
    char text[1024];
    int fd = dial();
    SSL *ssl = handshake(fd);
    assert_non_null(ssl);
    assert_true(SSL_version(ssl) >= TLS1_2_VERSION);
    for (size_t i = 1; i <= 3; i++) {
        say(ssl, request, sizeof request - 1);
        memset(text, 0, sizeof text);
        for (int k = 0; k < STEPS_MAX && strstr(text, "hello") == NULL; k++) {
            size_t len = strlen(text);
            int n = SSL_read(ssl, text + len, (int)(sizeof text - 1 - len));
            assert_true(n > 0 || again(ssl, n));
        }
        assert_int_equal(probe.handled, i);
    }
    hang_up(ssl, fd);
}

static void large_bodies_over_tls(void **state)
{
    (void)state;
    size_t len = 1 << 20;
    char *body = malloc(len);
    char *back = malloc(len + 4096);
    assert_true(body != NULL && back != NULL);
    for (size_t i = 0; i < len; i++) {
        body[i] = (char)(i * 11 + i / 253);
    }
    int fd = dial();
    SSL *ssl = handshake(fd);
    assert_non_null(ssl);
    static const char head[] =
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\nConnection: close\r\n\r\n";
    say(ssl, head, sizeof head - 1);
    say(ssl, body, len);
    size_t got = hear(ssl, back, len + 4096);
    assert_true(got > len);
    assert_memory_equal(back + got - len, body, len);
    assert_int_equal(SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
    hang_up(ssl, fd);
    free(body);
    free(back);
}

/* Bytes that OpenSSL has read and we have not asked for yet: no event tells of them. */
static void a_pipeline_over_tls_waits_inside_of_openssl(void **state)
{
    (void)state;
    static char text[48 << 10];
    char back[8192];
    size_t len = 0;
    size_t count = 0;
    probe.holds = true;
    /* Records of 12,000 bytes, read 16 KiB at a time; requests answered one by one. */
    while (len < 35900) {
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "GET /%zu HTTP/1.1\r\nHost: x\r\n\r\n", count);
        count++;
    }
    int fd = dial();
    SSL *ssl = handshake(fd);
    assert_non_null(ssl);
    for (size_t at = 0; at < len; at += 12000) {
        say(ssl, text + at, len - at < 12000 ? len - at : 12000);
    }
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < STEPS_MAX && probe.held_count == 0; k++) {
            step();
        }
        net_probe_answer(&probe);
        while (SSL_read(ssl, back, sizeof back) > 0) {
        }
    }
    assert_int_equal(probe.handled, count);
    hang_up(ssl, fd);
}

static unsigned left_count;

static void count_left(struct tc_request *r)
{
    (void)r;
    left_count++;
}

/* A connection whose request the service holds. */
static SSL *ask_and_wait(int *out_fd)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    probe.holds = true;
    left_count = 0;
    *out_fd = dial();
    SSL *ssl = handshake(*out_fd);
    assert_non_null(ssl);
    say(ssl, request, sizeof request - 1);
    for (int i = 0; i < STEPS_MAX && probe.held_count == 0; i++) {
        step();
    }
    assert_int_equal(probe.held_count, 1);
    probe.held[0]->left = count_left;
    return ssl;
}

static void wait_until_left(void)
{
    for (int i = 0; i < STEPS_MAX && left_count == 0; i++) {
        step();
    }
    assert_int_equal(left_count, 1);
}

static void whoever_leaves_while_it_waits_is_noticed(void **state)
{
    (void)state;
    int fd = -1;
    for (int says_so = 0; says_so < 2; says_so++) {
        SSL *ssl = ask_and_wait(&fd);
        for (int i = 0; i < 100; i++) {
            step();
        }
        assert_int_equal(left_count, 0);
        if (says_so == 1) { /* the socket stays open: the word alone is enough */
            (void)SSL_shutdown(ssl);
        } else {
            (void)shutdown(fd, SHUT_WR);
        }
        wait_until_left();
        /* It may be answered still, and then the connection ends. */
        net_probe_answer(&probe);
        for (int i = 0; i < STEPS_MAX && tc_net_connections(probe.net) > 0; i++) {
            step();
        }
        assert_int_equal(tc_net_connections(probe.net), 0);
        SSL_free(ssl);
        (void)close(fd);
    }
}

/* What is no end and nothing to read is taken in: what comes behind it is noticed. */
static void a_new_key_is_no_end_and_hides_none(void **state)
{
    (void)state;
    int fd = -1;
    SSL *ssl = ask_and_wait(&fd);
    assert_int_equal(SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    assert_int_equal(SSL_do_handshake(ssl), 1);
    for (int i = 0; i < 100; i++) {
        step();
    }
    assert_int_equal(left_count, 0);
    (void)shutdown(fd, SHUT_WR);
    wait_until_left();
    net_probe_answer(&probe);
    hang_up(ssl, fd);
}

/* A request behind the one that is answered is no end, and is not lost. */
static void the_next_request_is_no_end(void **state)
{
    (void)state;
    static const char request[] = "GET /2 HTTP/1.1\r\nHost: x\r\n\r\n";
    int fd = -1;
    SSL *ssl = ask_and_wait(&fd);
    say(ssl, request, sizeof request - 1);
    for (int i = 0; i < 100; i++) {
        step();
    }
    assert_int_equal(left_count, 0);
    assert_int_equal(probe.held_count, 1);
    net_probe_answer(&probe);
    for (int i = 0; i < STEPS_MAX && probe.held_count == 0; i++) {
        step();
    }
    assert_string_equal(probe.seen.path, "/2");
    net_probe_answer(&probe);
    hang_up(ssl, fd);
}

static void what_is_not_tls_is_closed(void **state)
{
    (void)state;
    static const char *const cases[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                        "\x16\x03\x01\xff\xff\xff\xff",
                                        "\x80\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"};
    for (size_t i = 0; i < 3; i++) {
        int fd = dial();
        step();
        assert_int_equal(tc_net_connections(probe.net), 1);
        assert_true(send(fd, cases[i], strlen(cases[i]), MSG_NOSIGNAL) > 0);
        for (int k = 0; k < 100; k++) {
            step();
        }
        if (tc_net_connections(probe.net) > 0) { /* a record that has not come whole */
            net_probe_wait(&probe, 60 * TC_SECOND);
        }
        assert_int_equal(tc_net_connections(probe.net), 0);
        (void)close(fd);
    }
    assert_int_equal(probe.handled, 0);
}

static void old_versions_are_refused(void **state)
{
    (void)state;
    SSL_CTX_set_security_level(client, 0);
    assert_int_equal(SSL_CTX_set_min_proto_version(client, TLS1_VERSION), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(client, TLS1_1_VERSION), 1);
    int fd = dial();
    assert_null(handshake(fd));
    (void)close(fd);
    assert_int_equal(SSL_CTX_set_max_proto_version(client, TLS1_2_VERSION), 1);
    fd = dial();
    SSL *ssl = handshake(fd);
    assert_non_null(ssl);
    hang_up(ssl, fd);
}

static void alpn_names_the_protocol(void **state)
{
    (void)state;
    static const struct {
        const struct tc_proto *proto;
        const char *offered;
        unsigned len;
        const char *chosen; /* NULL: no handshake */
    } cases[] = {
        {&tc_proto_http, "\x08http/1.1", 9, "http/1.1"},
        {&tc_proto_http, "\x02h2\x08http/1.1", 12, "http/1.1"},
        {&tc_proto_http, "\x02h2", 3, NULL},
        {&tc_proto_grpc, "\x08http/1.1\x02h2", 12, "h2"},
        {&tc_proto_grpc, "\x08http/1.1", 9, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const unsigned char *name = NULL;
        unsigned len = 0;
        struct tc_error err = {0};
        assert_int_equal(listen_with(cases[i].proto, &err), TC_OK);
        assert_int_equal(
            SSL_CTX_set_alpn_protos(client, (const unsigned char *)cases[i].offered, cases[i].len),
            0);
        int fd = dial();
        SSL *ssl = handshake(fd);
        assert_true((ssl != NULL) == (cases[i].chosen != NULL));
        if (ssl != NULL) {
            SSL_get0_alpn_selected(ssl, &name, &len);
            assert_int_equal(len, strlen(cases[i].chosen));
            assert_memory_equal(name, cases[i].chosen, len);
            hang_up(ssl, fd);
        } else {
            (void)close(fd);
        }
    }
}

static long serial_of_peer(void)
{
    int fd = dial();
    SSL *ssl = handshake(fd);
    assert_non_null(ssl);
    X509 *x = SSL_get1_peer_certificate(ssl);
    assert_non_null(x);
    long serial = ASN1_INTEGER_get(X509_get0_serialNumber(x));
    X509_free(x);
    hang_up(ssl, fd);
    return serial;
}

static void certificates_are_read_again(void **state)
{
    (void)state;
    struct tc_error err = {0};
    char other_key[64];
    (void)snprintf(other_key, sizeof other_key, "%s/other.pem", folder);
    assert_int_equal(serial_of_peer(), 1);
    make_certificate(cert_path, key_path, 2);
    assert_int_equal(serial_of_peer(), 1);
    assert_int_equal(tc_net_reload_tls(probe.net, &err), TC_OK);
    assert_int_equal(serial_of_peer(), 2);
    /* One that does not fit its key: said, and the old one stays. */
    make_certificate(cert_path, other_key, 3);
    assert_int_equal(tc_net_reload_tls(probe.net, &err), TC_E_IO);
    assert_non_null(strstr(err.message, key_path));
    assert_int_equal(serial_of_peer(), 2);
    (void)unlink(cert_path);
    assert_int_equal(tc_net_reload_tls(probe.net, &err), TC_E_IO);
    assert_non_null(strstr(err.message, cert_path));
    assert_int_equal(serial_of_peer(), 2);
    (void)unlink(other_key);
}

static void files_that_cannot_be_used_are_named(void **state)
{
    (void)state;
    struct tc_error err = {0};
    FILE *f = fopen(key_path, "w");
    assert_true(f != NULL && fputs("no key\n", f) >= 0 && fclose(f) == 0);
    assert_int_equal(listen_with(&tc_proto_http, &err), TC_E_IO);
    assert_non_null(strstr(err.message, key_path));
    (void)unlink(cert_path);
    assert_int_equal(listen_with(&tc_proto_http, &err), TC_E_IO);
    assert_non_null(strstr(err.message, cert_path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_over_tls, setup, teardown),
        cmocka_unit_test_setup_teardown(large_bodies_over_tls, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pipeline_over_tls_waits_inside_of_openssl, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(whoever_leaves_while_it_waits_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_key_is_no_end_and_hides_none, setup, teardown),
        cmocka_unit_test_setup_teardown(the_next_request_is_no_end, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_tls_is_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(old_versions_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(alpn_names_the_protocol, setup, teardown),
        cmocka_unit_test_setup_teardown(certificates_are_read_again, setup, teardown),
        cmocka_unit_test_setup_teardown(files_that_cannot_be_used_are_named, setup, teardown),
    };
    return cmocka_run_group_tests_name("server_tls", tests, group_setup, group_teardown);
}
