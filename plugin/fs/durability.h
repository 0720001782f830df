// SPDX-License-Identifier: Apache-2.0
//
// The contract that a mount keeps: what survives a power cut, and what the death of the process. One line of its log
// says so, for the device, cache and stage that it has. Pure function; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace furrow {

struct DurabilityFacts {
  std::string device;  // "dir:/var/tmp/zones": what stands before the colon is the kind
  bool read_only = false;
  bool outlives_process = true;  // the device
  bool volatile_cache = true;    // completed writes may be lost at a power cut until flushed
  std::string stage;             // path; "": none
  uint64_t stage_bytes = 0;      // at most
  bool stage_in_doubt = false;   // it may go with the container or the session; a warning says why
  std::string why_no_stage;
};

// "synced bytes survive a power cut (...), what returned survives the death of this process (...)"; of a read-only
// mount: "nothing is written".
std::string DurabilityContract(const DurabilityFacts& facts);

}  // namespace furrow
