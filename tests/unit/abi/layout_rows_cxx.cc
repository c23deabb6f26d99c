// SPDX-License-Identifier: Apache-2.0
#define LAYOUT_ROWS_FUNCTION LayoutRowsCxx
#include "layout_rows.inc"
