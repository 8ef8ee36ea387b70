// python/csrc/hooks/dormant_profiler.cpp — answers torch.profiler; who asks for the device's rows loads _C.
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <memory>
#include <string>

#include "hooks/dormant.h"

namespace spyre::python {
namespace {

using Types = std::set<libkineto::ActivityType>;
using Session = std::unique_ptr<libkineto::IActivityProfilerSession>;

/// PyTorch makes one when it first profiles anything. A profile of the CPU alone loads nothing.
class DormantProfiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const Types& availableActivities() const override { return none_; }
  Session configure(const Types& asked, const libkineto::Config& config) override {
    if (!asked.contains(libkineto::ActivityType::CONCURRENT_KERNEL)) return nullptr;
    return wake().profiler->configure(asked, config);
  }
  Session configure(std::int64_t, std::int64_t, const Types& asked,
                    const libkineto::Config& config) override {
    return configure(asked, config);
  }

 private:
  const std::string name_ = "spyre";
  const Types none_;
};

}  // namespace

void register_dormant_profiler() {
  torch::profiler::impl::PrivateUse1ProfilerRegistry::instance().registerFactory(
      [] { return std::make_unique<DormantProfiler>(); });
}

}  // namespace spyre::python
