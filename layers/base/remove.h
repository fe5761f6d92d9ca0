/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees that go, however deep they are and whatever their directories' permissions say.
 */
#ifndef LAYERS_BASE_REMOVE_H
#define LAYERS_BASE_REMOVE_H

/* Remove what is called so in `parent`, a directory with all that is in it. 0 also when there is
 * nothing, or -errno with a part of it gone. */
int remove_tree(int parent, const char *name);

/* Go on after the end of the factory and of its process group, when nothing else has work. Before
 * the confinement, which allows none of it. 0 or -errno. */
int remove_detach(void);

#endif
