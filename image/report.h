/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-image, as msp starts it: `msp-image import BYTES`, `msp-image check`, `msp-image pack
 * BYTES COUNT PATH... LEFT-OUT...` or `msp-image remove`, with the descriptors of enum image_fd. It
 * writes one report to its standard output. `check` has not read an archive: it makes the manifest
 * again, from the JSON files that `import` has left. `pack` has COUNT directories beneath the
 * input, the highest layer first, and paths in them that are left out.
 */
#ifndef IMAGE_REPORT_H
#define IMAGE_REPORT_H

#include "image/manifest.h"
#include "image/name.h"

#define IMAGE_REPORT_TEXT_MAX 1024
#define IMAGE_REPORT_NAMES_MAX 8U

enum image_fd {
	IMAGE_FD_INPUT = 3, /* an archive, a pipe with one, or a directory; check: that for new
			     * layers; pack: the directory of the paths, with O_PATH; remove: not
			     * used */
	IMAGE_FD_INCOMING,  /* the directory for new layers, and for the manifest's file */
	IMAGE_FD_LAYERS,    /* the directory of layers that are there, with O_PATH */
	IMAGE_FD_LOCK,      /* the store's lock, which is held until both programs have ended */
	IMAGE_FD_END
};

/* The manifest's file in the directory for new layers. Its layers that were there have 0 bytes and
 * 0 entries. */
#define IMAGE_INCOMING_MANIFEST "manifest"

/* Beside it the JSON files that an import read: the configuration, and in an OCI layout the
 * manifest that leads to it. One of them has the image's digest. */
#define IMAGE_INCOMING_CONFIG "config.json"
#define IMAGE_INCOMING_INDEXED "indexed.json"

/* The longest of them. */
#define IMAGE_JSON_MAX ((size_t)4 << 20)

struct image_report {
	uint32_t is_done;
	uint32_t name_count;
	char names[IMAGE_REPORT_NAMES_MAX][IMAGE_NAME_MAX]; /* of the image, in the one spelling */
	char digest[IMAGE_DIGEST_MAX]; /* pack: the new layer's diff_id; empty: there is nothing in
					  it */
	char text[IMAGE_REPORT_TEXT_MAX]; /* not done: why */
	/* In new layers. */
	uint64_t special_files;  /* devices, FIFOs, sockets: left out */
	uint64_t set_ids;        /* files without their set-ID bits */
	uint64_t bytes, entries; /* pack: of the layer; 0 if it was there */
	uint64_t attributes;     /* files and directories without their extended attributes */
};

#endif
