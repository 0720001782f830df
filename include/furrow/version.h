// SPDX-License-Identifier: Apache-2.0
//
// The version of Furrow; the build takes it from here. Constants; any thread.
#pragma once

#define FURROW_VERSION_MAJOR 0
#define FURROW_VERSION_MINOR 1
#define FURROW_VERSION_PATCH 0

#define FURROW_VERSION_TEXT_OF(x) #x
#define FURROW_VERSION_TEXT(x) FURROW_VERSION_TEXT_OF(x)
// "0.1.0"
#define FURROW_VERSION_STRING               \
  FURROW_VERSION_TEXT(FURROW_VERSION_MAJOR) \
  "." FURROW_VERSION_TEXT(FURROW_VERSION_MINOR) "." FURROW_VERSION_TEXT(FURROW_VERSION_PATCH)
