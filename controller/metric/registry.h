// The series of one process, registered from the catalog. A name, label or series that the catalog
// does not allow is refused and counted (railgauge_series_refused_total), never exported. Thread
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
  // Raises a counter to a total that is counted elsewhere; the counter never falls.
  void raise_to(std::string_view counter, const Labels& labels, double total);
  // Replaces all series of a gauge family; series that `values` lacks end.
  void replace(std::string_view gauge, const std::map<Labels, double>& values);

  // Returns the exposition text, as a scrape receives it.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::shared_ptr<prometheus::Registry>& collectable() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace railgauge::metric
