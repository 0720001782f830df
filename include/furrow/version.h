// SPDX-License-Identifier: Apache-2.0
//
// Version of Furrow. Any thread.
#pragma once

#define FURROW_VERSION_MAJOR 0
#define FURROW_VERSION_MINOR 1
#define FURROW_VERSION_PATCH 0

namespace furrow {
// "0.1.0", of the library that is loaded (the macros are the headers').
const char* VersionString();
}  // namespace furrow
