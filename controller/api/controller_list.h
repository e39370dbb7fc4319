// The controllers of a site as people name them: "a:7443,b:7443".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/text/text.h"

namespace railgauge::api {

// The addresses in their order, without blanks and empty ones.
inline std::vector<std::string> controllers_of(std::string_view list) {
  std::vector<std::string> controllers;
  for (const std::string_view part : split(list, ',')) {
    const std::size_t begin = part.find_first_not_of(" \t");
    if (begin == std::string_view::npos) continue;
    controllers.emplace_back(part.substr(begin, part.find_last_not_of(" \t") - begin + 1));
  }
  return controllers;
}

}  // namespace railgauge::api
