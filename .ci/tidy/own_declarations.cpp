// A plugin of clang-tidy-19 (`--load`): its checks look at the project's declarations only. By itself clang-tidy matches
// all checks against system headers too, and then drops what it finds there, which takes most of its time.
// Clang's analyzer chooses its functions by itself; nothing changes for it.
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendPluginRegistry.h>

#include <memory>
#include <string>
#include <vector>

namespace {

class narrow_scope final : public clang::ASTConsumer {
 public:
  void HandleTranslationUnit(clang::ASTContext& context) override {
    const clang::SourceManager& files = context.getSourceManager();
    std::vector<clang::Decl*> own;
    for (clang::Decl* declaration : context.getTranslationUnitDecl()->decls()) {
      const clang::SourceLocation place = files.getExpansionLoc(declaration->getLocation());
      if (!files.isInSystemHeader(place)) own.push_back(declaration);
    }
    context.setTraversalScope(own);
  }
};

/// Clang runs it before clang-tidy's checks, in each run into which the plugin is loaded.
class own_declarations final : public clang::PluginASTAction {
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& /*compiler*/,
                                                        llvm::StringRef /*file*/) override {
    return std::make_unique<narrow_scope>();
  }
  bool ParseArgs(const clang::CompilerInstance& /*compiler*/,
                 const std::vector<std::string>& /*words*/) override {
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }
};

const clang::FrontendPluginRegistry::Add<own_declarations> registered("own-declarations",
                                                                      "checks skip system headers");

} // namespace
