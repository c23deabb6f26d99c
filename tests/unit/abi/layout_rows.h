/* SPDX-License-Identifier: Apache-2.0 */
/* One row for each constant, enumerator, structure and field of the ABI, as one compiler sees it.
 */
#ifndef SGPRS_TESTS_UNIT_ABI_LAYOUT_ROWS_H_
#define SGPRS_TESTS_UNIT_ABI_LAYOUT_ROWS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum LayoutKind { kLayoutConstant, kLayoutEnumerator, kLayoutStruct, kLayoutField };

typedef struct LayoutRow {
  enum LayoutKind kind;
  const char* owner; /* structure or enumeration, "" for a constant */
  const char* name;  /* "" for a structure */
  uint64_t value;    /* value of a constant or enumerator, offset of a field, 0 */
  uint64_t bytes;    /* size of a structure or field, 0 */
} LayoutRow;

/* Static storage; `*count` rows. */
const LayoutRow* LayoutRowsC11(size_t* count);
const LayoutRow* LayoutRowsCxx(size_t* count);

#ifdef __cplusplus
}
#endif

#endif /* SGPRS_TESTS_UNIT_ABI_LAYOUT_ROWS_H_ */
