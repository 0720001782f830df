// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <iostream>

#include "tools/command_table.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  try {
    furrow::tools::Console console = furrow::tools::ProcessConsole();
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return static_cast<int>(furrow::tools::RunFurrow(words, &console));
  } catch (const std::exception& e) {
    std::cerr << "furrow: " << e.what() << "\n";
    return static_cast<int>(furrow::tools::ExitCode::kError);
  }
}
