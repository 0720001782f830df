// SPDX-License-Identifier: Apache-2.0
//
// Makes a plan with a difference shorter, by leaving parts out for as long as a difference stays (delta debugging,
// Zeller and Hildebrandt 2002). Pure but for the runs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "tests/conformance/differential_plan.h"
#include "tests/conformance/differential_run.h"

namespace furrow {

struct Shrunk {
  std::vector<DifferentialOp> plan;
  Difference difference;
  size_t runs = 0;
};

// `plan` has `difference`; `run` tries a plan on fresh file systems, at most `max_runs` times.
Shrunk Shrink(std::vector<DifferentialOp> plan, Difference difference, size_t max_runs,
              const std::function<std::optional<Difference>(const std::vector<DifferentialOp>&)>& run);

}  // namespace furrow
