/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in that is linked with libcuda, for dlopen with and without RTLD_DEEPBIND. */
int cuInit(unsigned flags);
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** params, void** extra);

int PluginRun(void);
int PluginRun(void) {
  if (cuInit(0) != 0) return 1;
  return cuLaunchKernel((void*)1, 2, 3, 4, 5, 6, 7, 8, (void*)9, (void**)10, (void**)11);
}
