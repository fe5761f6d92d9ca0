/* SPDX-License-Identifier: Apache-2.0 */
#include "image/description.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/digest.h"
#include "image/refuse.h"
#include "image/report.h"
#include "lib/json/read.h"

#define BLOBS "blobs/sha256/"
#define INDEX "index.json"
#define MANIFEST "manifest.json"

#define NO_LAYERS "it has no layers"

/* An index in an index is what multi-platform images have. */
#define DEPTH_MAX 3

/* The manifests and indexes that are read. The largest images of registries are for some twenty
 * platforms, with an attestation for each. */
#define BLOBS_MAX 256U

/* A JSON file of the image. */
struct text {
	char *bytes;
	struct json_document document;
	struct json_value *top;
};

/* The image that was chosen, and how many files it took. */
struct choice {
	bool is_made;
	uint32_t blobs;
	char digest[IMAGE_DIGEST_MAX];
};

static void text_done(struct text *text)
{
	json_done(&text->document);
	free(text->bytes);
	*text = (struct text){ 0 };
}

/* In `struct text text TEXT_OWNED;`, for read_text(): it is freed at the end of the block. */
#define TEXT_OWNED __attribute__((cleanup(text_done)))

/* Read a JSON file; its digest is compared with `digest` ("": nobody says it), and put there. */
static int read_text(const struct input *input, const char *path, char digest[IMAGE_DIGEST_MAX],
		     struct text *ret)
{
	char found[IMAGE_DIGEST_MAX];
	size_t size;

	*ret = (struct text){ .bytes = input_read_text(input, path, &size) };
	if (!ret->bytes)
		return -1;
	digest_of(ret->bytes, size, found);
	if (digest[0] && strcmp(found, digest) != 0)
		return refuse("the digest of '%.200s' is sha256:%s: it was changed or damaged",
			      path, found);
	memcpy(digest, found, sizeof(found));
	if (json_read(&ret->document, ret->bytes, size) != JSON_OK)
		return refuse("'%.200s' is no JSON that can be read", path);
	ret->top = json_top(&ret->document);
	return 0;
}

/* Copy a string. False: there is none, or it is too long or has a NUL. */
static bool copy_string(struct json_value *value, char *ret, size_t room)
{
	if (!json_is(value, JSON_STRING))
		return false;
	json_decode(value);
	if (value->size >= room || memchr(value->text, '\0', value->size))
		return false;
	memcpy(ret, value->text, value->size);
	ret[value->size] = '\0';
	return true;
}

static bool copy_member(const struct text *text, const struct json_value *object, const char *key,
			char *ret, size_t room)
{
	return copy_string(json_member(&text->document, object, key), ret, room);
}

/* Copy the digits of "sha256:DIGEST". */
static int copy_digest(struct json_value *value, const char *what, char ret[IMAGE_DIGEST_MAX])
{
	char whole[sizeof(IMAGE_DIGEST_PREFIX) + IMAGE_DIGEST_MAX];
	const size_t mark = strlen(IMAGE_DIGEST_PREFIX);

	if (!copy_string(value, whole, sizeof(whole)) ||
	    strncmp(whole, IMAGE_DIGEST_PREFIX, mark) != 0 || !image_digest_is_good(whole + mark))
		return refuse("the digest of %s must be sha256: and 64 digits", what);
	memcpy(ret, whole + mark, IMAGE_DIGEST_MAX);
	return 0;
}

static void write_blob_path(const char *digest, char ret[DESCRIPTION_PATH_MAX])
{
	memcpy(ret, BLOBS, sizeof(BLOBS) - 1);
	memcpy(ret + sizeof(BLOBS) - 1, digest, IMAGE_DIGEST_MAX);
}

/* Add a name of the image to the report; one that is none is left out. */
static void add_name(const char *name)
{
	char spelled[IMAGE_NAME_MAX];

	if (report.name_count == IMAGE_REPORT_NAMES_MAX || strchr(name, '@') ||
	    image_name_read(name, spelled))
		return;
	for (uint32_t i = 0; i < report.name_count; i++) {
		if (strcmp(report.names[i], spelled) == 0)
			return;
	}
	memcpy(report.names[report.name_count++], spelled, sizeof(spelled));
}

/* --- the configuration ------------------------------------------------------------------------ */

/* Add the texts of an array, or one text; null is none. */
static int add_words(const struct text *text, const struct json_value *object, const char *key,
		     struct image *image, struct image_words *words)
{
	struct json_value *value = json_member(&text->document, object, key);
	struct json_value *word =
		json_is(value, JSON_STRING) ? value : json_first(&text->document, value);

	for (; word; word = word == value ? NULL : json_next(&text->document, word)) {
		if (!json_is(word, JSON_STRING))
			return refuse("%s in its configuration must be a list of texts", key);
		json_decode(word);
		if (!image_add_word(image, words, word->text, word->size))
			return refuse("%s in its configuration is too long, or has a NUL", key);
	}
	return 0;
}

/* Take the working directory, which counts from the root. */
static int add_cwd(const struct text *text, const struct json_value *object, struct image *image)
{
	struct json_value *value = json_member(&text->document, object, "WorkingDir");
	char cwd[PATH_MAX + 1] = "/";

	if (json_is(value, JSON_STRING) && !copy_string(value, cwd + 1, PATH_MAX))
		return refuse("WorkingDir in its configuration is too long, or has a NUL");
	if (cwd[1] == '/')
		memmove(cwd, cwd + 1, strlen(cwd));
	image->cwd = image_add_text(image, cwd, strlen(cwd));
	return image->cwd ? 0 : refuse("its configuration has too many texts");
}

static int check_platform(const struct text *text)
{
	char os[32] = "", architecture[32] = "";

	(void)copy_member(text, text->top, "os", os, sizeof(os));
	(void)copy_member(text, text->top, "architecture", architecture, sizeof(architecture));
	return strcmp(os, "linux") == 0 && strcmp(architecture, "amd64") == 0
		       ? 0
		       : refuse("it is for '%s/%s', and must be for linux/amd64", os, architecture);
}

static int read_diff_ids(const struct text *text, struct description *ret)
{
	const struct json_value *list = json_member(
		&text->document, json_member(&text->document, text->top, "rootfs"), "diff_ids");
	struct json_value *value = json_first(&text->document, list);
	const uint32_t most = ret->layer_count ? ret->layer_count : IMAGE_LAYERS_MAX;
	uint32_t count = 0;

	for (; value; value = json_next(&text->document, value)) {
		if (count == most)
			break;
		if (copy_digest(value, "a layer", ret->layers[count++].diff_id) < 0)
			return -1;
	}
	ret->layer_count = ret->layer_count ? ret->layer_count : count;
	return count == ret->layer_count && !value
		       ? 0
		       : refuse("its configuration does not have a diff_id for each of its %u "
				"layers",
				ret->layer_count);
}

static int read_config(const struct input *input, const char *path, char digest[IMAGE_DIGEST_MAX],
		       struct description *ret)
{
	struct image *image = &ret->image;
	const struct json_value *config;
	struct text text TEXT_OWNED;

	(void)snprintf(ret->config, sizeof(ret->config), "%s", path);
	if (read_text(input, path, digest, &text) < 0 || check_platform(&text) < 0 ||
	    read_diff_ids(&text, ret) < 0)
		return -1;
	config = json_member(&text.document, text.top, "config");
	return add_cwd(&text, config, image) == 0 &&
			       add_words(&text, config, "Env", image, &image->environment) == 0 &&
			       add_words(&text, config, "Entrypoint", image, &image->entrypoint) ==
				       0 &&
			       add_words(&text, config, "Cmd", image, &image->command) == 0
		       ? 0
		       : -1;
}

/* --- OCI layouts ------------------------------------------------------------------------------ */

/* Is it for another platform than ours? Without a platform the configuration says it. */
static bool is_other_platform(const struct text *text, const struct json_value *descriptor)
{
	const struct json_value *platform = json_member(&text->document, descriptor, "platform");
	char os[32] = "", architecture[32] = "";

	if (!platform)
		return false;
	(void)copy_member(text, platform, "os", os, sizeof(os));
	(void)copy_member(text, platform, "architecture", architecture, sizeof(architecture));
	return strcmp(os, "linux") != 0 || strcmp(architecture, "amd64") != 0;
}

/* Add the name that docker or skopeo gives an image in a layout; a mere tag is none. */
static void add_annotated(const struct text *text, const struct json_value *descriptor)
{
	static const char *const keys[] = { "io.containerd.image.name",
					    "org.opencontainers.image.ref.name" };
	const struct json_value *notes = json_member(&text->document, descriptor, "annotations");
	char name[IMAGE_NAME_MAX];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (copy_member(text, notes, keys[i], name, sizeof(name)) && strpbrk(name, ":/")) {
			add_name(name);
			return;
		}
	}
}

static int read_layers(const struct text *text, struct description *ret)
{
	const struct json_value *list = json_member(&text->document, text->top, "layers");

	for (const struct json_value *value = json_first(&text->document, list); value;
	     value = json_next(&text->document, value)) {
		struct layer_source *layer = &ret->layers[ret->layer_count];

		if (ret->layer_count == IMAGE_LAYERS_MAX)
			return refuse("it has more than %d layers", IMAGE_LAYERS_MAX);
		if (copy_digest(json_member(&text->document, value, "digest"), "a layer",
				layer->digest) < 0)
			return -1;
		write_blob_path(layer->digest, layer->path);
		ret->layer_count++;
	}
	return 0;
}

/* Read a manifest with its configuration, which is a blob unless it has a `path`. */
static int read_manifest(const struct input *input, const struct text *text, const char *digest,
			 const char *path, struct description *ret)
{
	char config[IMAGE_DIGEST_MAX], blob[DESCRIPTION_PATH_MAX];

	if (read_layers(text, ret) < 0 ||
	    copy_digest(json_member(&text->document,
				    json_member(&text->document, text->top, "config"), "digest"),
			"its configuration", config) < 0)
		return -1;
	if (ret->layer_count == 0)
		return refuse(NO_LAYERS);
	write_blob_path(digest, ret->manifest);
	write_blob_path(config, blob);
	ret->image.digest_kind = IMAGE_DIGEST_MANIFEST;
	memcpy(ret->image.digest, digest, sizeof(ret->image.digest));
	return read_config(input, path ? path : blob, config, ret);
}

static int take_manifest(const struct input *input, const struct text *text, const char *digest,
			 struct choice *choice, struct description *ret)
{
	if (choice->is_made)
		return strcmp(choice->digest, digest) == 0
			       ? 0
			       : refuse("it holds several images for linux/amd64: save one of "
					"them");
	choice->is_made = true;
	memcpy(choice->digest, digest, sizeof(choice->digest));
	return read_manifest(input, text, digest, NULL, ret);
}

static int read_blob(const struct input *input, const char *digest, uint32_t depth,
		     struct choice *choice, struct description *ret);

/* Look at all images of an index, deeper ones in turn. */
static int read_index(const struct input *input, const struct text *text, uint32_t depth,
		      struct choice *choice, struct description *ret)
{
	const struct json_value *list = json_member(&text->document, text->top, "manifests");
	int result = 0;

	for (const struct json_value *value = json_first(&text->document, list);
	     value && result == 0; value = json_next(&text->document, value)) {
		char digest[IMAGE_DIGEST_MAX];

		if (is_other_platform(text, value))
			continue;
		result = copy_digest(json_member(&text->document, value, "digest"), "a manifest",
				     digest);
		if (result == 0)
			result = read_blob(input, digest, depth, choice, ret);
		if (result == 0)
			add_annotated(text, value);
	}
	return result;
}

static int read_blob(const struct input *input, const char *digest, uint32_t depth,
		     struct choice *choice, struct description *ret)
{
	char path[DESCRIPTION_PATH_MAX], found[IMAGE_DIGEST_MAX];
	bool has_layers, has_manifests;
	struct text text TEXT_OWNED = { 0 };

	if (depth == DEPTH_MAX)
		return refuse("its indexes are more than %d deep", DEPTH_MAX);
	if (choice->blobs++ == BLOBS_MAX)
		return refuse("its indexes lead to more than %u manifests and indexes", BLOBS_MAX);
	write_blob_path(digest, path);
	memcpy(found, digest, sizeof(found));
	if (read_text(input, path, found, &text) < 0)
		return -1;
	has_layers = json_member(&text.document, text.top, "layers") != NULL;
	has_manifests = json_member(&text.document, text.top, "manifests") != NULL;
	if (has_layers == has_manifests)
		return refuse("'%s' must be either a manifest or an index", path);
	return has_layers ? take_manifest(input, &text, digest, choice, ret)
			  : read_index(input, &text, depth + 1, choice, ret);
}

static int read_layout(const struct input *input, struct description *ret)
{
	char digest[IMAGE_DIGEST_MAX] = "";
	struct choice choice = { 0 };
	struct text text TEXT_OWNED;

	if (read_text(input, INDEX, digest, &text) < 0 ||
	    read_index(input, &text, 0, &choice, ret) < 0)
		return -1;
	return choice.is_made ? 0 : refuse("it holds no image for linux/amd64");
}

/* --- docker-archives -------------------------------------------------------------------------- */

/* Take the digest of the configuration from its path, where that has one: DIGEST.json, or a blob.
 */
static void digest_of_path(const char *path, char ret[IMAGE_DIGEST_MAX])
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	(void)snprintf(ret, IMAGE_DIGEST_MAX, "%.64s", name);
	if (!image_digest_is_good(ret) || (name[IMAGE_DIGEST_MAX - 1] != '\0' &&
					   strcmp(name + IMAGE_DIGEST_MAX - 1, ".json") != 0))
		ret[0] = '\0';
}

static int read_archived(const struct input *input, const struct text *text,
			 const struct json_value *entry, struct description *ret)
{
	const struct json_document *document = &text->document;
	char config[DESCRIPTION_PATH_MAX], name[IMAGE_NAME_MAX];
	struct json_value *value = json_first(document, json_member(document, entry, "Layers"));

	for (; value; value = json_next(document, value)) {
		if (ret->layer_count == IMAGE_LAYERS_MAX)
			return refuse("it has more than %d layers", IMAGE_LAYERS_MAX);
		if (!copy_string(value, ret->layers[ret->layer_count++].path, DESCRIPTION_PATH_MAX))
			return refuse("the path of a layer in '" MANIFEST "' cannot be read");
	}
	if (ret->layer_count == 0)
		return refuse(NO_LAYERS);
	if (!copy_member(text, entry, "Config", config, sizeof(config)))
		return refuse("'" MANIFEST "' names no configuration");
	for (value = json_first(document, json_member(document, entry, "RepoTags")); value;
	     value = json_next(document, value)) {
		if (copy_string(value, name, sizeof(name)))
			add_name(name);
	}
	ret->image.digest_kind = IMAGE_DIGEST_CONFIG;
	digest_of_path(config, ret->image.digest);
	return read_config(input, config, ret->image.digest, ret);
}

static int read_archive(const struct input *input, struct description *ret)
{
	char digest[IMAGE_DIGEST_MAX] = "";
	const struct json_value *entry;
	struct text text TEXT_OWNED;

	if (read_text(input, MANIFEST, digest, &text) < 0)
		return -1;
	entry = json_first(&text.document, text.top);
	if (!json_is(text.top, JSON_ARRAY) || !entry)
		return refuse("'" MANIFEST "' must be a list of images");
	if (json_next(&text.document, entry))
		return refuse("it holds several images: save one of them");
	return read_archived(input, &text, entry, ret);
}

/* Is there such a file? 1, 0 or -1. */
static int has_file(const struct input *input, const char *path)
{
	struct input_file file;
	const int found = input_open(input, path, &file);

	input_close(&file);
	return found;
}

/* Refuse an image, whose layers are not there yet, for its first fault. */
static int check_image(struct description *description)
{
	struct image *image = &description->image;
	const char *rule;

	image->layer_count = 1;
	memcpy(image->layers[0].diff_id, description->layers[0].diff_id, IMAGE_DIGEST_MAX);
	rule = image_fault(image);
	image->layer_count = 0;
	return rule ? refuse("its configuration breaks a rule: %s", rule) : 0;
}

int description_read(const struct input *input, struct description *ret)
{
	const int is_layout = has_file(input, INDEX);
	const int is_archive = is_layout == 0 ? has_file(input, MANIFEST) : 0;
	int result;

	memset(ret, 0, sizeof(*ret));
	if (is_layout < 0 || is_archive < 0)
		return -1;
	if (!is_layout && !is_archive)
		return refuse(INPUT_NO_IMAGE);
	result = is_layout ? read_layout(input, ret) : read_archive(input, ret);
	return result == 0 ? check_image(ret) : -1;
}

int description_read_again(const struct input *input, struct description *ret)
{
	const int is_layout = has_file(input, IMAGE_INCOMING_INDEXED);
	char digest[IMAGE_DIGEST_MAX] = "";
	struct text text TEXT_OWNED = { 0 };
	int result;

	memset(ret, 0, sizeof(*ret));
	if (!is_layout) {
		ret->image.digest_kind = IMAGE_DIGEST_CONFIG;
		result = read_config(input, IMAGE_INCOMING_CONFIG, digest, ret);
	} else {
		result = read_text(input, IMAGE_INCOMING_INDEXED, digest, &text);
		if (result == 0)
			result = read_manifest(input, &text, digest, IMAGE_INCOMING_CONFIG, ret);
	}
	return result == 0 ? check_image(ret) : -1;
}
