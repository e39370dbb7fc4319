// Records the reports of a task in a test.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "kernels/fakes/pair.h"

namespace railgauge::fake {

class Recorder final : public Reporter {
 public:
  explicit Recorder(RankResult& result) : result_(result) {}
  void point(Point point) override { result_.points.push_back(std::move(point)); }
  void note(std::string_view, std::string text) override {
    result_.notes.push_back(std::move(text));
  }
  void fact(std::string_view name, std::string value) override {
    result_.facts[std::string(name)] = std::move(value);
  }

 private:
  RankResult& result_;
};

}  // namespace railgauge::fake
