/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's parts, in the order in which they are made. */
#ifndef TC_SERVER_DAEMON_PRIV_H
#define TC_SERVER_DAEMON_PRIV_H

#include "net/inflate.h"
#include "net/net.h"
#include "outbox/outbox.h"
#include "server/api/api.h"
#include "server/committer.h"
#include "server/daemon.h"
#include "server/detection.h"
#include "server/forward/forward.h"
#include "server/hot_page.h"
#include "server/ingest/forwarded.h"
#include "server/ingest/ingest.h"
#include "server/ingest/upload.h"
#include "server/remote_write.h"
#include "server/run_book.h"
#include "server/sealer.h"
#include "server/shipper.h"
#include "server/sources/sources.h"
#include "server/warehouse/feed.h"
#include "server/warehouse/hub.h"
#include "server/warehouse/service.h"

#include <stdbool.h>
#include <stdint.h>

struct event;

#define TC__ADDRESS_MAX 128
#define TC__SIGNALS 3

struct tc_daemon {
    struct tc_config config;
    struct tc_daemon_options options;
    struct tc_alert_settings alerts; /* of the configuration, for the outbox */
    int lock_fd;
    char *evidence_dir;
    char *outbox_dir;
    char *spool_dir;
    struct tc_auth *auth;
    struct tc_pool *pool;
    struct tc_pool *api_pool;
    struct tc_net *net;
    struct tc_inflater *inflater;
    struct tc_otlp_reader *reader;
    struct tc_store *store;
    struct tc_detection *detection;
    struct tc_catch_up *catch_up;
    struct tc_outbox *outbox;
    struct tc_run_book *runs;
    struct tc_warehouse_hub *hub;   /* NULL, as the next three: warehouse.enabled is false */
    struct tc_handoff *handoff;     /* NULL: neither slices nor requests */
    struct tc_remote_write *remote; /* NULL: hot_metrics.remote_write.url is empty */
    struct tc_hot_page *hot;        /* NULL: hot_metrics.enabled or warehouse.slices is false */
    struct tc_warehouse_feed *feed;
    struct tc_warehouse_service *warehouse;
    struct tc_body_checker *checker;
    struct tc_committer *committer;
    struct tc_sealer *sealer;
    struct tc_shipper *shipper;     /* NULL: evidence.remote is empty */
    struct tc_forward *forward;     /* NULL: forward.endpoints is empty */
    struct tc_forwarded *forwarded; /* what others forward here */
    struct tc_ingest *ingest;
    struct tc_upload *upload;
    struct tc_source_set *sources;
    struct tc_api *api;
    struct event *signals[TC__SIGNALS];
    struct event *detect_timer; /* when detection wants to look at the clock */
    struct event *stop_timer;   /* while draining */
    int64_t armed_ns;           /* when detect_timer is set to, our clock; INT64_MAX: not set */
    int64_t started_ns;
    int64_t stop_by_ns; /* monotonic */
    char http_address[TC__ADDRESS_MAX];
    char grpc_address[TC__ADDRESS_MAX];
    char api_address[TC__ADDRESS_MAX];
    char verdict_folder[TC_CONFIG_TEXT_MAX]; /* of the verdict file, at the start */
    bool is_confined;                        /* no other folder can be written to */
    bool stopping;
};

/* daemon_reload.c: where the verdict file is; false: there is none. out has TC_CONFIG_TEXT_MAX. */
bool tc__daemon_verdict_folder(const struct tc_config *c, char *out);

/* daemon_status.c: for struct tc_api_parts; context is the daemon. */
void tc__daemon_refresh(void *context);
void tc__daemon_describe(void *context, struct tc_json_out *j);

/* daemon_warehouse.c */
TC_CHECKED tc_status tc__daemon_warehouse_start(struct tc_daemon *d, struct tc_error *err);
/* Before the outbox is closed. False: queries do not end, see tc_warehouse_service_stop(); nor did
 * those of others that use the hub, where `ended` is false. */
TC_CHECKED bool tc__daemon_warehouse_stop(struct tc_daemon *d, bool ended);

/* daemon_reload.c */
void tc__daemon_reload(struct tc_daemon *d);
/* What the configuration says, as the parts take it. */
struct tc_net_limits tc__daemon_net_limits(const struct tc_config *c);
struct tc_otlp_limits tc__daemon_otlp_limits(const struct tc_config *c);
/* The same for the loop's own reader: what is over them is checked by a thread. */
struct tc_otlp_limits tc__daemon_level_limits(const struct tc_config *c);
/* The largest body of OTLP, after decompression. */
size_t tc__daemon_body_max(const struct tc_config *c);
/* Fills d->alerts, which it leads to. */
struct tc_outbox_config tc__daemon_outbox_config(struct tc_daemon *d);
void tc__daemon_log_config(const struct tc_config *c);

#endif
