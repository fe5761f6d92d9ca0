/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent/history.h"

#include <string.h>
#include <unistd.h>

#include "base/state.h"
#include "common/history.h"
#include "common/ipc_init.h"
#include "stewards/store/store.h"

void history_add(const struct request *request, int code)
{
	const struct ipc_spawn *spawn = request->spawn;
	struct history_note note = { .execution = request->id, .pid = supervisor.pid };
	ssize_t got;

	if (!request->sandbox)
		return;
	note.argv_size = spawn->argv_size < HISTORY_TEXT_MAX ? spawn->argv_size : HISTORY_TEXT_MAX;
	memcpy(note.text, spawn->argv, note.argv_size);
	got = pread(code, note.text + note.argv_size, HISTORY_TEXT_MAX - note.argv_size, 0);
	note.code_size = got > 0 ? (uint32_t)got : 0;
	(void)store_note(request->sandbox->persistent.directory, &note);
}
