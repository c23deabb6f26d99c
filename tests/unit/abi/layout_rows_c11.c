/* SPDX-License-Identifier: Apache-2.0 */
#define LAYOUT_ROWS_FUNCTION LayoutRowsC11
#include "layout_rows.inc"
