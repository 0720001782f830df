// SPDX-License-Identifier: Apache-2.0
//
// The report of `furrow scrub`, which is also what its state file holds. Pure functions; any thread.
#pragma once

#include <string>

#include "plugin/fs/scrub.h"
#include "tools/report_json.h"

namespace furrow::tools {

// A line for each damaged part, and one for the whole.
std::string ScrubText(const std::string& device, const ScrubState& state);
Json ScrubJson(const std::string& device, const ScrubState& state);
// The state that ScrubJson was made of. InvalidArgument: it was not.
Result<ScrubState> ScrubStateOf(const Json& json);

}  // namespace furrow::tools
