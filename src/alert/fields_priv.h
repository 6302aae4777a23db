/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that templates know: fields.def. */
#ifndef TC_ALERT_FIELDS_PRIV_H
#define TC_ALERT_FIELDS_PRIV_H

#include "alert/alert.h"
#include "base/buf.h"

#include <stddef.h>

/* Room for any field as it is, before it is escaped. */
#define TC__FIELD_TEXT_MAX 4096

/* What a field is looked up in: part is NULL outside of {{#parts}}. */
struct tc__field_of {
    const struct tc_alert *alert;
    const struct tc_alert_part *part;
    bool is_last;
};

/* The number of a field; of a part's first where in_part holds. SIZE_MAX: there is none. */
size_t tc__field_find(struct tc_slice name, bool in_part);
/* Its text as it is; empty when it says nothing. Borrows scratch for what is not there already. */
struct tc_slice tc__field_text(size_t field, const struct tc__field_of *of, struct tc_buf *scratch);
/* The name that is most like it, "" when none is. */
struct tc_slice tc__field_near(struct tc_slice name);

#endif
