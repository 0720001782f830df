// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/differential_shrink.h"

#include <algorithm>
#include <utility>

namespace furrow {
namespace {

using Plan = std::vector<DifferentialOp>;

Plan Without(const Plan& plan, size_t begin, size_t end) {
  Plan rest(plan.begin(), plan.begin() + static_cast<ptrdiff_t>(begin));
  rest.insert(rest.end(), plan.begin() + static_cast<ptrdiff_t>(end), plan.end());
  return rest;
}

// What comes behind the difference is of no use.
void CutBehind(Plan* plan, const Difference& difference) { plan->resize(std::min(plan->size(), difference.at + 1)); }

}  // namespace

Shrunk Shrink(Plan plan, Difference difference, size_t max_runs,
              const std::function<std::optional<Difference>(const Plan&)>& run) {
  Shrunk shrunk{std::move(plan), std::move(difference)};
  CutBehind(&shrunk.plan, shrunk.difference);
  for (size_t chunk = std::max<size_t>(1, shrunk.plan.size() / 2); chunk > 0;) {
    bool shorter = false;
    // From the end: what matters less is mostly near the start, but what is near the end leaves with more.
    for (size_t end = shrunk.plan.size(); end > 0 && shrunk.runs < max_runs;) {
      const size_t begin = end - std::min(end, chunk);
      Plan candidate = Without(shrunk.plan, begin, end);
      ++shrunk.runs;
      std::optional<Difference> still = run(candidate);
      if (still) {
        shrunk.plan = std::move(candidate);
        shrunk.difference = *std::move(still);
        CutBehind(&shrunk.plan, shrunk.difference);
        shorter = true;
      }
      end = std::min(begin, shrunk.plan.size());
    }
    if (shrunk.runs >= max_runs) break;
    if (chunk == 1 && !shorter) break;
    chunk = std::max<size_t>(1, chunk / 2);
  }
  return shrunk;
}

}  // namespace furrow
