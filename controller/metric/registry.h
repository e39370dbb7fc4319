// The series of one process, registered from the catalog. A name, a label or a series beyond what
// the catalog allows is refused and counted (railgauge_series_refused_total), never shown. Thread
// safe; reading the page touches memory only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "controller/metric/catalog.h"

namespace prometheus {
class Registry;
}

namespace railgauge::metric {

using Labels = std::map<std::string, std::string>;

class Registry {
 public:
  explicit Registry(Owner process);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  void set(std::string_view gauge, const Labels& labels, double value);
  void add(std::string_view counter, const Labels& labels, double more = 1);
  // A counter that somebody else counts; it never falls.
  void raise_to(std::string_view counter, const Labels& labels, double total);
  // All values of a gauge family at once: what is not named goes.
  void replace(std::string_view gauge, const std::map<Labels, double>& values);

  // The exposition text, as a scrape gets it.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::shared_ptr<prometheus::Registry>& collectable() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace railgauge::metric
