/** Tools whose stacks are met again in files and pipes, which name them. */
import type { StackProfile } from '../../aggregate/stack-profile.js';
import type { StackTool } from '../../aggregate/stack-tool.js';
import { tools } from '../../generated/tools.js';

/** By a name that strangers may have written; undefined: no tool of ours, or one that finds no stacks. */
export async function stackToolNamed(name = ''): Promise<StackTool | undefined> {
	if (!Object.hasOwn(tools, name)) return undefined;
	const tool: { readonly stackTool?: StackTool } = await tools[name as keyof typeof tools]();
	return tool.stackTool;
}

/** With what is known of the tool that its origin names. */
export async function withStackTool(profile: StackProfile): Promise<StackProfile> {
	return { ...profile, tool: await stackToolNamed(profile.origin.tool) };
}
