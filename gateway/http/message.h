/* SPDX-License-Identifier: Apache-2.0
 *
 * The writers of heads: a request that policy allows, with its secrets; an answer without them; and
 * the answers of msp itself.
 */
#ifndef GATEWAY_HTTP_MESSAGE_H
#define GATEWAY_HTTP_MESSAGE_H

#include "gateway/http/head.h"
#include "gateway/http/redact.h"
#include "gateway/http/target.h"
#include "lib/heap/buffer.h"

/* Append the head of a request. False: it is refused, nothing is appended, and *ret_refusal says
 * why. */
bool message_write_request(const struct target *target, const struct head *head, struct buffer *ret,
			   struct refusal *ret_refusal);

/* Refuse a request that is no sound one. */
void message_refuse_fault(const struct target *target, enum head_fault fault,
			  struct refusal *ret_refusal);

/* Refuse a request by a field of a form in its body. */
void message_refuse_override(const struct target *target, struct refusal *ret_refusal);

/* Append the head of an answer; with `redact`, which has nothing that waits, without secrets. */
void message_write_answer(const struct head *head, struct redact *redact, struct buffer *ret);

/* Return whether an answer says that its text is coded, so that no secret could be found in it. */
bool message_is_coded(const struct head *head);

/* Append an answer of msp's own, after which the connection ends; `has_body` unless the request was
 * HEAD. */
void message_write_own(uint32_t status, const char *text, bool has_body, struct buffer *ret);

#endif
