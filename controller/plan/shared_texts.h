// Texts by name that many owners have in common.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace railgauge::plan {

// A map whose copies share one value until one of them is changed: a run has 200,000 tasks, and
// those of a stage have the same parameters. Thread safe for readers.
class SharedTexts {
 public:
  using Map = std::map<std::string, std::string>;
  using mapped_type = Map::mapped_type;

  SharedTexts() : texts_(none()) {}
  SharedTexts(Map texts) : texts_(std::make_shared<const Map>(std::move(texts))) {}

  [[nodiscard]] const Map& all() const { return *texts_; }
  [[nodiscard]] auto begin() const { return texts_->begin(); }
  [[nodiscard]] auto end() const { return texts_->end(); }
  [[nodiscard]] auto find(const std::string& name) const { return texts_->find(name); }
  [[nodiscard]] bool contains(const std::string& name) const { return texts_->contains(name); }
  [[nodiscard]] const std::string& at(const std::string& name) const { return texts_->at(name); }
  // Sets a text of this owner alone.
  void set(const std::string& name, std::string text) {
    Map changed = *texts_;
    changed[name] = std::move(text);
    texts_ = std::make_shared<const Map>(std::move(changed));
  }

  bool operator==(const SharedTexts& other) const {
    return texts_ == other.texts_ || *texts_ == *other.texts_;
  }

 private:
  static const std::shared_ptr<const Map>& none() {
    static const auto empty = std::make_shared<const Map>();
    return empty;
  }

  std::shared_ptr<const Map> texts_;
};

}  // namespace railgauge::plan
