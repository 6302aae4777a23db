/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A published number with all that it stands on, in a directory that can be sent to somebody who
 * has neither the tables nor the files, and checked there:
 *
 *   packet.json      the entry of the audit log (with the claim), and what the ledger says of each
 * run files/HEX        manifests, signatures and raw files, each under the SHA-256 of its bytes
 */
#ifndef TC_PUBLISH_PACKET_H
#define TC_PUBLISH_PACKET_H

#include "base/status.h"
#include "evidence/sign/sign.h"
#include "publish/chain.h"
#include "publish/claim.h"
#include "publish/numbers.h"
#include "publish/source.h"

#include <stdint.h>

#define TC_PACKET_FILE "packet.json"
#define TC_PACKET_BYTES_MAX ((size_t)64 << 20)

/* Writes it to a directory that is not there yet; durable on return, nothing is left of one that
 * fails. */
TC_CHECKED tc_status tc_packet_write(const char *dir, const struct tc_number *number,
                                     const struct tc_claim *claim, const struct tc_source *source,
                                     uint64_t *out_files, uint64_t *out_bytes,
                                     struct tc_error *err);

/* Checks it without anything else. key may be NULL. TC_OK: judged, as tc_lineage_check does;
 * TC_E_MALFORMED, TC_E_IO, TC_E_NOTFOUND: it is no packet, or cannot be read. */
TC_CHECKED tc_status tc_packet_check(const char *dir, const struct tc_sign_key *key,
                                     char out_id[TC_NUMBER_ID_BYTES], struct tc_chain *out,
                                     struct tc_claim *out_claim, struct tc_error *err);

#endif
