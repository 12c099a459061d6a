"""A distribution with an executor that compacts nothing, for configurations with schedules."""

COMPACTOR = """
from sluicegate.api import PluginConfig, TaskExecutor, TaskExecutorType, TaskResult, hookimpl

class Compactor(TaskExecutor):
    async def run(self, task, resources, run):
        return TaskResult(f"compacted {task.table.name}")

@hookimpl
def sluicegate_register_task_executors():
    def build(config, context):
        return Compactor()
    operations = ("TABLE_COMPACTION", "TABLE_VACUUM", "TABLE_PURGE")
    return [TaskExecutorType("compactor", operations, PluginConfig, build, lambda config: ["lake"])]
"""
