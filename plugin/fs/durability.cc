// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/durability.h"

namespace furrow {
namespace {

std::string HowSynced(const DurabilityFacts& facts) {
  const std::string kind = facts.device.substr(0, facts.device.find(':'));
  // The host's page cache is volatile, whatever the disk below it is.
  if (kind == "dir") return "fdatasync of zone files";
  return facts.volatile_cache ? "flush or FUA: its cache is volatile" : "no flush is sent: it has no volatile cache";
}

std::string Staged(const DurabilityFacts& facts) {
  if (facts.stage.empty()) {
    return "what returned survives the death of this process (no stage, " + facts.why_no_stage +
           ": each flush writes to the device)";
  }
  const std::string stage = "stage " + facts.stage + ", up to " + std::to_string(facts.stage_bytes >> 20) + " MiB";
  if (facts.stage_in_doubt) {
    return "what returned survives the death of this process, but perhaps not of its container or session (" + stage +
           ")";
  }
  return "what returned survives the death of this process, until the machine stops (" + stage + ")";
}

}  // namespace

std::string DurabilityContract(const DurabilityFacts& facts) {
  if (facts.read_only) return "nothing is written";
  if (!facts.outlives_process) return "nothing survives the death of this process (the device is in its memory)";
  return "synced bytes survive a power cut (" + HowSynced(facts) + "), " + Staged(facts);
}

}  // namespace furrow
